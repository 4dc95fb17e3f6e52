// The rules of who waits and what is stored, as tables of events and effects.

import PermissionModel
import Testing

@testable import GuardRules
