// Carries out scenarios with the Go SDK and prints what it saw. The Go twin of
// node/program.mjs: same plan file, same output lines.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	copilot "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"
)

type plan struct {
	Provider  *copilot.ProviderConfig `json:"provider"`
	Model     string                  `json:"model"`
	Token     string                  `json:"token"`
	TimeoutMs int                     `json:"timeoutMs"`
	Scenarios []scenario              `json:"scenarios"`
}

type scenario struct {
	Name       string                      `json:"name"`
	Tools      []toolSpec                  `json:"tools"`
	Permission string                      `json:"permission"`
	Input      *inputSpec                  `json:"input"`
	Hooks      bool                        `json:"hooks"`
	Streaming  bool                        `json:"streaming"`
	Agents     []copilot.CustomAgentConfig `json:"agents"`
	Prompts    []string                    `json:"prompts"`
	Resume     bool                        `json:"resume"`
	Files      []string                    `json:"files"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Result      string `json:"result"`
	Throws      string `json:"throws"`
}

type inputSpec struct {
	Answer      string `json:"answer"`
	WasFreeform bool   `json:"wasFreeform"`
}

type record = map[string]any

// seen collects what handlers and events showed. The SDK calls handlers from
// goroutines of its own.
type seen struct {
	mu          sync.Mutex
	Name        string          `json:"name"`
	Tools       []record        `json:"tools"`
	Permissions []any           `json:"permissions"`
	Inputs      []record        `json:"inputs"`
	Hooks       []record        `json:"hooks"`
	Events      []any           `json:"events"`
	History     []any           `json:"history,omitempty"`
	Error       *string         `json:"error"`
	Files       map[string]bool `json:"files"`
}

func (s *seen) add(put func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	put()
}

func (s *seen) hook(name string, input any) {
	s.add(func() { s.Hooks = append(s.Hooks, record{"type": name, "input": input}) })
}

func (s *seen) tools(specs []toolSpec) []copilot.Tool {
	var tools []copilot.Tool
	for _, spec := range specs {
		tools = append(tools, copilot.Tool{
			Name:        spec.Name,
			Description: spec.Description,
			Parameters: record{
				"type":       "object",
				"properties": record{"key": record{"type": "string"}},
				"required":   []string{"key"},
			},
			Handler: func(call copilot.ToolInvocation) (copilot.ToolResult, error) {
				s.add(func() { s.Tools = append(s.Tools, record{"name": spec.Name, "args": call.Arguments}) })
				if spec.Throws != "" {
					return copilot.ToolResult{}, errors.New(spec.Throws)
				}
				args, _ := call.Arguments.(map[string]any)
				key, _ := args["key"].(string)
				text := strings.ReplaceAll(spec.Result, "{key}", key)
				return copilot.ToolResult{TextResultForLLM: text, ResultType: "success"}, nil
			},
		})
	}
	return tools
}

func (s *seen) permission(how string) copilot.PermissionHandlerFunc {
	return func(request copilot.PermissionRequest, _ copilot.PermissionInvocation) (rpc.PermissionDecision, error) {
		s.add(func() { s.Permissions = append(s.Permissions, request) })
		if how == "deny" {
			feedback := "nope"
			return &rpc.PermissionDecisionReject{Feedback: &feedback}, nil
		}
		return &rpc.PermissionDecisionApproveOnce{}, nil
	}
}

func (s *seen) input(answer *inputSpec) copilot.UserInputHandler {
	if answer == nil {
		return nil
	}
	return func(request copilot.UserInputRequest, _ copilot.UserInputInvocation) (copilot.UserInputResponse, error) {
		s.add(func() {
			s.Inputs = append(s.Inputs, record{
				"question": request.Question, "choices": request.Choices, "allowFreeform": request.AllowFreeform,
			})
		})
		return copilot.UserInputResponse{Answer: answer.Answer, WasFreeform: answer.WasFreeform}, nil
	}
}

// watching makes a handler of any hook type that notes its input and has no opinion.
func watching[In any, Out any](s *seen, name string) func(In, copilot.HookInvocation) (*Out, error) {
	return func(input In, _ copilot.HookInvocation) (*Out, error) {
		s.hook(name, input)
		return nil, nil
	}
}

func (s *seen) hooks(wanted bool) *copilot.SessionHooks {
	if !wanted {
		return nil
	}
	return &copilot.SessionHooks{
		OnPreToolUse:            watching[copilot.PreToolUseHookInput, copilot.PreToolUseHookOutput](s, "preToolUse"),
		OnPostToolUse:           watching[copilot.PostToolUseHookInput, copilot.PostToolUseHookOutput](s, "postToolUse"),
		OnPostToolUseFailure:    watching[copilot.PostToolUseFailureHookInput, copilot.PostToolUseFailureHookOutput](s, "postToolUseFailure"),
		OnUserPromptSubmitted:   watching[copilot.UserPromptSubmittedHookInput, copilot.UserPromptSubmittedHookOutput](s, "userPromptSubmitted"),
		OnUserPromptTransformed: watching[copilot.UserPromptTransformedHookInput, copilot.UserPromptTransformedHookOutput](s, "userPromptTransformed"),
		OnSessionStart:          watching[copilot.SessionStartHookInput, copilot.SessionStartHookOutput](s, "sessionStart"),
		OnSessionEnd:            watching[copilot.SessionEndHookInput, copilot.SessionEndHookOutput](s, "sessionEnd"),
		OnErrorOccurred:         watching[copilot.ErrorOccurredHookInput, copilot.ErrorOccurredHookOutput](s, "errorOccurred"),
		OnAgentStop:             watching[copilot.AgentStopHookInput, copilot.AgentStopHookOutput](s, "agentStop"),
	}
}

func (s *seen) watch(session *copilot.Session) {
	session.On(func(event copilot.SessionEvent) {
		s.add(func() { s.Events = append(s.Events, event) })
	})
}

func (s *seen) carryOut(client *copilot.Client, p plan, sc scenario) error {
	background := context.Background()
	session, err := client.CreateSession(background, &copilot.SessionConfig{
		Model:               p.Model,
		Provider:            p.Provider,
		Streaming:           &sc.Streaming,
		Tools:               s.tools(sc.Tools),
		CustomAgents:        sc.Agents,
		OnPermissionRequest: s.permission(sc.Permission),
		OnUserInputRequest:  s.input(sc.Input),
		Hooks:               s.hooks(sc.Hooks),
	})
	if err != nil {
		return err
	}
	s.watch(session)
	for index, prompt := range sc.Prompts {
		if index > 0 && sc.Resume {
			id := session.SessionID
			if err := session.Disconnect(); err != nil {
				return err
			}
			session, err = client.ResumeSession(background, id, &copilot.ResumeSessionConfig{
				Model:               p.Model,
				Provider:            p.Provider,
				Streaming:           &sc.Streaming,
				Tools:               s.tools(sc.Tools),
				CustomAgents:        sc.Agents,
				OnPermissionRequest: s.permission(sc.Permission),
				OnUserInputRequest:  s.input(sc.Input),
				Hooks:               s.hooks(sc.Hooks),
			})
			if err != nil {
				return err
			}
			s.watch(session)
			history, err := session.GetEvents(background)
			if err != nil {
				return err
			}
			for _, event := range history {
				s.History = append(s.History, event)
			}
		}
		ctx, cancel := context.WithTimeout(background, time.Duration(p.TimeoutMs)*time.Millisecond)
		_, err := session.SendAndWait(ctx, copilot.MessageOptions{Prompt: prompt})
		cancel()
		if err != nil {
			return err
		}
	}
	return session.Disconnect()
}

func run(client *copilot.Client, p plan, sc scenario) *seen {
	s := &seen{
		Name: sc.Name, Tools: []record{}, Permissions: []any{}, Inputs: []record{},
		Hooks: []record{}, Events: []any{}, Files: map[string]bool{},
	}
	if err := s.carryOut(client, p, sc); err != nil {
		text := err.Error()
		s.Error = &text
	}
	for _, path := range sc.Files {
		_, err := os.Stat(path)
		s.Files[path] = err == nil
	}
	return s
}

func carryOutPlan() error {
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	options := &copilot.ClientOptions{LogLevel: "error", GitHubToken: p.Token}
	options.UseLoggedInUser = copilot.Bool(false)
	client := copilot.NewClient(options)
	if err := client.Start(context.Background()); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, sc := range p.Scenarios {
		s := run(client, p, sc)
		s.mu.Lock()
		err := out.Encode(s)
		s.mu.Unlock()
		if err != nil {
			return errors.Join(err, client.Stop())
		}
	}
	return client.Stop()
}

func main() {
	if err := carryOutPlan(); err != nil {
		line, _ := json.Marshal(record{"fatal": fmt.Sprint(err)})
		fmt.Println(string(line))
		os.Exit(1)
	}
}
