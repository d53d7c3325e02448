package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// crdWith is a CRD with a version for each given schema of spec, which is in
// YAML's flow style.
func crdWith(specs ...string) string {
	crd := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mills.millrace.dev}
spec:
  group: millrace.dev
  scope: Namespaced
  names: {plural: mills, kind: Mill}
  versions:
`
	for i, spec := range specs {
		crd += fmt.Sprintf(`  - name: v%d
    served: true
    storage: %t
    schema: {openAPIV3Schema: {type: object, properties: {spec: %s}}}
`, i+1, i == 0, spec)
	}
	return crd
}

// estimate runs the program over one file of the given content.
func estimate(t *testing.T, content string) (answer report, complaint string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code = run([]string{file}, &stdout, &stderr)
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, stdout.String())
	}
	for _, crd := range answer.CRDs {
		if crd.Bytes != len(content) {
			t.Errorf("bytes are %d, want %d", crd.Bytes, len(content))
		}
	}
	return answer, stderr.String(), code
}

const (
	cheap = `{type: object, properties: {size: {type: integer}},
            x-kubernetes-validations: [{rule: self.size > 0}]}`
	withMessage = `{type: object, properties: {name: {type: string, maxLength: 900}},
            x-kubernetes-validations: [{rule: self.name != '', messageExpression: "'not ' + self.name"}]}`
	overUnboundedList = `{type: object, properties: {names: {type: array, items: {type: string}}},
            x-kubernetes-validations: [{rule: "self.names.all(a, self.names.exists_one(b, a == b))"}]}`
	inUnboundedList = `{type: object, properties: {outputs: {type: array, items: {type: object,
            properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: self.size > 0}]}}}}`
	uncompilable = `{type: object, properties: {size: {type: integer}},
            x-kubernetes-validations: [{rule: self.syze > 0}, {rule: self.size > 0}]}`
	notStructural = `{properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: self.size > 0}]}`
)

// inBoundedLists has a rule in a list within a map.
func inBoundedLists(values, items int, rule string) string {
	return fmt.Sprintf(`{type: object, properties: {groups: {type: object, maxProperties: %d,
            additionalProperties: {type: array, maxItems: %d, items: {type: object, properties:
            {name: {type: string, maxLength: 1000}}, x-kubernetes-validations: [{rule: %q}]}}}}}`, values, items, rule)
}

func TestEstimates(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		code       int
		rules      int
		// of the costliest expression
		path      string
		times     uint64
		unbounded []string
		tooMuch   bool
		errors    string
		complaint string
	}{
		{name: "a cheap rule", spec: cheap, rules: 1, path: "spec", times: 1},
		{name: "a message expression", spec: withMessage, rules: 2, path: "spec", times: 1},
		{name: "a rule over an unbounded list", spec: overUnboundedList, rules: 1, path: "spec", times: 1,
			tooMuch: true, errors: "exceeds budget by factor of more than 100x"},
		{name: "a rule in an unbounded list", spec: inUnboundedList, rules: 1, path: "spec.outputs[]", times: 3 * 1024 * 1024 / 3,
			unbounded: []string{"spec.outputs"}},
		{name: "a rule in two bounded lists", spec: inBoundedLists(20, 30, "has(self.name)"),
			rules: 1, path: "spec.groups{}[]", times: 20 * 30},
		{name: "a rule that does not compile", spec: uncompilable, rules: 2, path: "spec", times: 1, code: 1,
			errors: "undefined field 'syze'", complaint: `mills.millrace.dev: the rule "self.syze > 0" at spec cannot be estimated`},
		{name: "a schema that is not structural", spec: notStructural, code: 1,
			errors: "Required value", complaint: "the schema is not structural"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, complaint, code := estimate(t, crdWith(test.spec))
			if code != test.code || !strings.Contains(complaint, test.complaint) || (complaint == "") != (code == 0) {
				t.Errorf("exit code is %d, complaint %q", code, complaint)
			}
			crd := answer.CRDs[0]
			if errors := strings.Join(crd.Errors, "\n"); !strings.Contains(errors, test.errors) || (errors == "") != (test.errors == "") {
				t.Errorf("errors are %q", errors)
			}
			if test.path == "" {
				return
			}
			first := crd.Rules[0]
			if first.Path != test.path || first.Times != test.times || !slices.Equal(first.Unbounded, test.unbounded) {
				t.Errorf("costliest is %+v", first)
			}
			if first.Cost == 0 || first.Cost != multiply(first.Each, first.Times) || (first.Cost > answer.Limits.Rule) != test.tooMuch {
				t.Errorf("cost is %d, of %d times %d", first.Cost, first.Times, first.Each)
			}
			if len(crd.Rules) != test.rules {
				t.Errorf("%d expressions", len(crd.Rules))
			}
			if sum := sumOf(crd.Rules); crd.Total != sum {
				t.Errorf("total is %d, but the expressions add up to %d", crd.Total, sum)
			}
		})
	}
}

func sumOf(rules []expression) (sum uint64) {
	for _, rule := range rules {
		sum += rule.Cost
	}
	return sum
}

// factor is how the API server tells a cost that is slightly above its limit:
// to six places, which makes it a check of the estimate itself.
var factor = regexp.MustCompile(`exceeds budget by factor of (\d\.\d{6})x`)

// TestAgreesWithTheAPIServer compares estimates just above a limit with what
// the API server's own validation says about the same CRD.
func TestAgreesWithTheAPIServer(t *testing.T) {
	search := `self.name.contains('wheel')`
	regex := `self.name.matches('^[a-z]+$')`
	many := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("{rule: %q}, ", regex), 12), ", ")
	for _, test := range []struct {
		name, spec string
		ours       func(crd crdReport, limits limits) float64
	}{
		{"one rule", inBoundedLists(70, 450, search), ruleShare},
		{"another", inBoundedLists(20, 700, regex), ruleShare},
		{"all rules together", fmt.Sprintf(`{type: object, properties: {names: {type: array, maxItems: 12000, items:
            {type: object, properties: {name: {type: string, maxLength: 1000}}, x-kubernetes-validations: [%s]}}}}`, many), totalShare},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, complaint, code := estimate(t, crdWith(test.spec))
			if code != 0 {
				t.Fatalf("exit code is %d: %s", code, complaint)
			}
			crd := answer.CRDs[0]
			said := factor.FindStringSubmatch(strings.Join(crd.Errors, "\n"))
			if said == nil {
				t.Fatalf("pick other bounds: the cost is %d, the total %d, and the API server says %q", crd.Rules[0].Cost, crd.Total, crd.Errors)
			}
			theirs, _ := strconv.ParseFloat(said[1], 64)
			if ours := test.ours(crd, answer.Limits); ours-theirs > 1e-6 || theirs-ours > 1e-6 {
				t.Errorf("ours is %f of the limit, the API server's %f", ours, theirs)
			}
		})
	}
}

func ruleShare(crd crdReport, limits limits) float64 {
	return float64(crd.Rules[0].Cost) / float64(limits.Rule)
}

func totalShare(crd crdReport, limits limits) float64 {
	return float64(crd.Total) / float64(limits.CRD)
}

func TestFiles(t *testing.T) {
	for _, test := range []struct {
		name, content string
		crds, code    int
		complaint     string
	}{
		{"several documents", "# first\n---\n" + crdWith(cheap) + "---\n" + crdWith(withMessage) + "---\n", 2, 0, ""},
		{"nothing", "# nothing\n", 0, 1, "holds no CustomResourceDefinition"},
		{"no YAML", "spec: [\n", 0, 1, "is not a CustomResourceDefinition"},
		{"another kind", "apiVersion: v1\nkind: Pod\n", 0, 1, "is not a CustomResourceDefinition"},
		{"a bad document after a good one", crdWith(cheap) + "---\nkind: Pod\n", 1, 1, "document 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, complaint, code := estimate(t, test.content)
			if len(answer.CRDs) != test.crds || code != test.code || !strings.Contains(complaint, test.complaint) {
				t.Errorf("%d CRDs, exit code %d, complaint %q", len(answer.CRDs), code, complaint)
			}
		})
	}
}

func TestUnknownFieldIsAnError(t *testing.T) {
	answer, _, code := estimate(t, crdWith(`{type: object, maxitems: 3}`))
	errors := strings.Join(answer.CRDs[0].Errors, "\n")
	if code != 0 || !strings.Contains(errors, `unknown field`) {
		t.Errorf("exit code %d, errors %q", code, errors)
	}
}

// TestVersionsAreCountedApart keeps total to what the API server limits, the
// sum of a schema, and not the sum of all.
func TestVersionsAreCountedApart(t *testing.T) {
	answer, complaint, code := estimate(t, crdWith(cheap, overUnboundedList))
	if code != 0 {
		t.Fatal(complaint)
	}
	crd := answer.CRDs[0]
	if len(crd.Rules) != 2 || crd.Rules[0].Version != "v2" || crd.Rules[1].Version != "v1" || crd.Total != crd.Rules[0].Cost {
		t.Errorf("total %d of %+v", crd.Total, crd.Rules)
	}
}

func TestMultiplyStopsAtTheLargestNumber(t *testing.T) {
	if got := multiply(1<<40, 1<<40); got != 1<<64-1 {
		t.Errorf("got %d", got)
	}
}
