"""PMML files: XML trees and their predicates."""
