module subagentd/interop

go 1.24

require github.com/github/copilot-sdk/go v1.0.14
