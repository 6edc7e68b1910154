"""Being here puts this folder on the path: tests share the random tables, random trees and oracles beside this file."""
