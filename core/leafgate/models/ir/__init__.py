"""The neutral model: trees and features as every reader tells them, and their validation."""
