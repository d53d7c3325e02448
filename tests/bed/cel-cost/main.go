// Program cel-cost prints what the CEL rules (x-kubernetes-validations) of
// CustomResourceDefinitions cost by the API server's own static estimate, and
// what the API server would have against creating those CRDs.
//
// An API server refuses a CRD whose rules may cost too much, and says by how
// much only once they do. This program says it beforehand, for every rule, so
// that a schema can be kept well under the limits.
//
// Usage: cel-cost FILE.yaml...
//
// Its answer is JSON on standard output. It exits with 1, and says why on
// standard error, when something could not be estimated; what could be is
// still printed. A CRD over a limit is an estimate like any other: it is told
// by its "errors", not by the exit code.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// report is the whole answer.
type report struct {
	CRDs   []crdReport `json:"crds"`
	Limits limits      `json:"limits"`
}

// limits are the API server's, printed so that no reader has to know them.
type limits struct {
	// Rule is for a single expression.
	Rule uint64 `json:"rule"`
	// CRD is for all expressions of one schema together.
	CRD uint64 `json:"crd"`
}

// crdReport is what there is to say about one CRD.
type crdReport struct {
	Name string `json:"name"`
	// Total is the sum of Rules. The API server adds up each schema by itself,
	// so for versions with schemas of their own it is the costliest one's sum.
	Total uint64 `json:"total"`
	// Bytes is the size of the file, whatever else that holds.
	Bytes int `json:"bytes"`
	// Errors is what the API server would refuse the CRD for.
	Errors []string     `json:"errors"`
	Rules  []expression `json:"rules"`
}

// expression is one rule, or the message expression of one: the API server
// counts them apart.
type expression struct {
	// Version is empty when all versions share one schema.
	Version string `json:"version,omitempty"`
	// Path is where the rule stands: "." is the root of the object, "[]" the
	// items of a list and "{}" the values of a map.
	Path string `json:"path"`
	Rule string `json:"rule"`
	// Message is set when the cost is that of the rule's messageExpression.
	Message string `json:"messageExpression,omitempty"`
	// Cost is Each times Times; 2^64-1 stands for that and anything above.
	Cost uint64 `json:"cost"`
	// Each is the estimate for a single evaluation.
	Each uint64 `json:"each"`
	// Times is how often one object may have it evaluated.
	Times uint64 `json:"times"`
	// Unbounded names the lists and maps around the rule that have no
	// maxItems or maxProperties. With any of them, Times is only what would
	// fit into the largest request.
	Unbounded []string `json:"unbounded,omitempty"`
	// Error is why the expression has no cost.
	Error string `json:"error,omitempty"`
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program without the process around it, for the tests.
func run(files []string, stdout, stderr io.Writer) int {
	if len(files) == 0 {
		fmt.Fprintln(stderr, "cel-cost: name at least one YAML file that holds a CustomResourceDefinition")
		return 1
	}
	answer, err := examineFiles(files)
	if writeErr := write(stdout, answer); writeErr != nil {
		err = errors.Join(err, fmt.Errorf("the answer cannot be written: %w", writeErr))
	}
	if err != nil {
		fmt.Fprintf(stderr, "cel-cost: %v\n", err)
		return 1
	}
	return 0
}

// write leaves < and & as they are: CEL is full of them.
func write(to io.Writer, answer report) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}

// examineFiles goes on after a failure, so that one bad file does not hide
// what is wrong with the next.
func examineFiles(files []string) (report, error) {
	answer := report{
		CRDs: []crdReport{},
		Limits: limits{
			Rule: validation.StaticEstimatedCostLimit,
			CRD:  validation.StaticEstimatedCRDCostLimit,
		},
	}
	var failures []error
	for _, file := range files {
		crds, err := examineFile(file)
		answer.CRDs = append(answer.CRDs, crds...)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", file, err))
		}
	}
	return answer, errors.Join(failures...)
}

// examineFile reports on every CRD of a file.
func examineFile(file string) ([]crdReport, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	documents, err := split(content)
	if err != nil {
		return nil, err
	}
	var found []crdReport
	var failures []error
	for i, document := range documents {
		crd, err := examineDocument(document)
		if err != nil {
			failures = append(failures, fmt.Errorf("document %d: %w", i+1, err))
		}
		if crd != nil {
			crd.Bytes = len(content)
			found = append(found, *crd)
		}
	}
	return found, errors.Join(failures...)
}

// split takes the documents of a YAML file apart and leaves out those that
// hold nothing but comments. A file without any other is an error, because it
// is hardly the one that was meant.
func split(content []byte) ([][]byte, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var documents [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the file cannot be split into YAML documents: %w", err)
		}
		var value any
		if err := yaml.Unmarshal(document, &value); err != nil || value != nil {
			documents = append(documents, document)
		}
	}
	if len(documents) == 0 {
		return nil, errors.New("the file holds no CustomResourceDefinition")
	}
	return documents, nil
}

// examineDocument reports on a single CRD. Report and error may both be there,
// when only some of it could be estimated.
func examineDocument(document []byte) (*crdReport, error) {
	crd, unknown, err := decode(document)
	if err != nil {
		return nil, err
	}
	found := &crdReport{
		Name:   crd.Name,
		Errors: append(unknown, verdict(crd)...),
		Rules:  []expression{},
	}
	var failures []error
	for _, schema := range schemasOf(crd) {
		rules, total, err := schema.estimate()
		found.Rules = append(found.Rules, rules...)
		found.Total = max(found.Total, total)
		failures = append(failures, err)
	}
	slices.SortStableFunc(found.Rules, costliestFirst)
	if err := errors.Join(failures...); err != nil {
		return found, fmt.Errorf("%s: %w", crd.Name, err)
	}
	return found, nil
}

// costliestFirst orders expressions for the reader.
func costliestFirst(a, b expression) int {
	switch {
	case a.Cost > b.Cost:
		return -1
	case a.Cost < b.Cost:
		return 1
	}
	return strings.Compare(a.Path, b.Path)
}

// decode brings a CRD into the form that the API server validates: strictly
// read, without the status that a client cannot set, with defaults, internal.
// Fields that are unknown or given twice do not stop it; they are returned.
func decode(document []byte) (*apiextensions.CustomResourceDefinition, []string, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiextensions.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)

	object, _, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
	unknown := []string{}
	if strict, ok := runtime.AsStrictDecodingError(err); ok && object != nil {
		for _, err := range strict.Errors() {
			unknown = append(unknown, err.Error())
		}
	} else if err != nil {
		return nil, nil, fmt.Errorf("this is not a CustomResourceDefinition of %s: %w", v1.SchemeGroupVersion, err)
	}
	given, ok := object.(*v1.CustomResourceDefinition)
	if !ok {
		return nil, nil, fmt.Errorf("this is a %T, not a CustomResourceDefinition", object)
	}
	given.Status = v1.CustomResourceDefinitionStatus{}
	scheme.Default(given)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(given, crd, nil); err != nil {
		return nil, nil, fmt.Errorf("this CustomResourceDefinition cannot be converted: %w", err)
	}
	return crd, unknown, nil
}

// verdict is what the API server has against creating a CRD. It is sorted,
// because the server walks through properties in no fixed order.
func verdict(crd *apiextensions.CustomResourceDefinition) []string {
	var said []string
	for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), crd) {
		said = append(said, err.Error())
	}
	slices.Sort(said)
	return said
}

// versionSchema is a schema that the API server estimates by itself.
type versionSchema struct {
	// version is empty for the schema that all versions share.
	version string
	props   *apiextensions.JSONSchemaProps
}

// schemasOf lists a CRD's schemas as the internal form has them: versions that
// have the same schema share one, and the API server counts it once.
func schemasOf(crd *apiextensions.CustomResourceDefinition) []versionSchema {
	var schemas []versionSchema
	if shared := crd.Spec.Validation; shared != nil && shared.OpenAPIV3Schema != nil {
		schemas = append(schemas, versionSchema{props: shared.OpenAPIV3Schema})
	}
	for _, version := range crd.Spec.Versions {
		if own := version.Schema; own != nil && own.OpenAPIV3Schema != nil {
			schemas = append(schemas, versionSchema{version: version.Name, props: own.OpenAPIV3Schema})
		}
	}
	return schemas
}

// estimate returns the expressions of a schema and the sum of their costs.
func (s versionSchema) estimate() ([]expression, uint64, error) {
	if err := requireStructural(s.props); err != nil {
		return nil, 0, err
	}
	root := validation.RootCELContext(s.props)
	walk := &walk{
		version: s.version,
		env:     environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()),
		total:   root.TotalCost,
	}
	walk.visit(node{schema: s.props, cel: root})
	return walk.found, root.TotalCost.Total, errors.Join(walk.failures...)
}

// requireStructural refuses the schemas whose rules the API server does not
// look at either, since they cannot be given CEL types.
func requireStructural(props *apiextensions.JSONSchemaProps) error {
	structural, err := structuralschema.NewStructural(props)
	if err == nil {
		err = structuralschema.ValidateStructural(nil, structural).ToAggregate()
	}
	if err != nil {
		return fmt.Errorf("no rule can be estimated, because the schema is not structural: %w", err)
	}
	return nil
}

// walk goes through a schema. The API server's own way through it cannot be
// called with anything that would tell the costs of rules within the limits,
// so this takes the same steps with the server's exported parts.
type walk struct {
	version  string
	env      *environment.EnvSet
	total    *validation.TotalCost
	found    []expression
	failures []error
}

// node is a schema within the schema.
type node struct {
	schema    *apiextensions.JSONSchemaProps
	cel       *validation.CELSchemaContext
	path      string
	unbounded []string
}

// place is the node's path for the reader.
func (n node) place() string {
	if n.path == "" {
		return "."
	}
	return strings.TrimPrefix(n.path, ".")
}

// visit estimates the rules of a node and of all below it. It does not enter
// not, allOf, anyOf and oneOf: a structural schema has no rules there.
func (w *walk) visit(n node) {
	w.estimate(n)
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		property := n.schema.Properties[name]
		w.visit(node{
			schema:    &property,
			cel:       n.cel.ChildPropertyContext(&property, name),
			path:      n.path + "." + name,
			unbounded: n.unbounded,
		})
	}
	if values := n.schema.AdditionalProperties; values != nil && values.Schema != nil {
		alone := validation.RootCELContext(n.schema).ChildAdditionalPropertiesContext(values.Schema)
		w.visit(node{
			schema:    values.Schema,
			cel:       n.cel.ChildAdditionalPropertiesContext(values.Schema),
			path:      n.path + "{}",
			unbounded: n.unboundedWith(alone),
		})
	}
	if items := n.schema.Items; items != nil && items.Schema != nil {
		alone := validation.RootCELContext(n.schema).ChildItemsContext(items.Schema)
		w.visit(node{
			schema:    items.Schema,
			cel:       n.cel.ChildItemsContext(items.Schema),
			path:      n.path + "[]",
			unbounded: n.unboundedWith(alone),
		})
	}
}

// unboundedWith adds the node if it lets its elements be any number. The
// context alone, of an element of a schema that is this node and nothing
// around it, tells; the one in the walk stays unbounded once it is.
func (n node) unboundedWith(alone *validation.CELSchemaContext) []string {
	if alone.MaxCardinality != nil {
		return n.unbounded
	}
	return append(slices.Clone(n.unbounded), n.place())
}

// estimate adds the expressions that stand at a node itself.
func (w *walk) estimate(n node) {
	if len(n.schema.XValidations) == 0 {
		return
	}
	info, err := n.cel.TypeInfo()
	if err != nil {
		w.fail(n, "the rules", err.Error())
		return
	}
	compiled, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, w.env, cel.NewExpressionsEnvLoader())
	if err != nil {
		w.fail(n, "the rules", err.Error())
		return
	}
	for i, rule := range n.schema.XValidations {
		w.addRule(n, rule, compiled[i])
		w.addMessage(n, rule, compiled[i])
	}
}

// addRule counts a rule as often as the lists and maps around it allow, or, if
// one of these has no bound, as often as values of its type fit in a request.
func (w *walk) addRule(n node, rule apiextensions.ValidationRule, compiled cel.CompilationResult) {
	times := compiled.MaxCardinality
	if n.cel.MaxCardinality != nil {
		times = *n.cel.MaxCardinality
	}
	found := expression{
		Rule:      rule.Rule,
		Cost:      multiply(compiled.MaxCost, times),
		Each:      compiled.MaxCost,
		Times:     times,
		Unbounded: n.unbounded,
	}
	if compiled.Error != nil {
		found.Error = compiled.Error.Detail
		w.fail(n, fmt.Sprintf("the rule %q", rule.Rule), found.Error)
	}
	w.add(n, found)
}

// addMessage counts a message expression once, as the API server does.
func (w *walk) addMessage(n node, rule apiextensions.ValidationRule, compiled cel.CompilationResult) {
	if compiled.MessageExpression == nil && compiled.MessageExpressionError == nil {
		return
	}
	found := expression{
		Rule:    rule.Rule,
		Message: rule.MessageExpression,
		Cost:    compiled.MessageExpressionMaxCost,
		Each:    compiled.MessageExpressionMaxCost,
		Times:   1,
	}
	if compiled.MessageExpressionError != nil {
		found.Error = compiled.MessageExpressionError.Detail
		w.fail(n, fmt.Sprintf("the messageExpression %q", rule.MessageExpression), found.Error)
	}
	w.add(n, found)
}

// add notes an expression and adds its cost to the total.
func (w *walk) add(n node, found expression) {
	found.Version = w.version
	found.Path = n.place()
	w.found = append(w.found, found)
	w.total.ObserveExpressionCost(nil, found.Cost)
}

// fail notes what could not be estimated.
func (w *walk) fail(n node, what, why string) {
	w.failures = append(w.failures, fmt.Errorf("%s at %s cannot be estimated: %s", what, n.place(), why))
}

// multiply stops at the largest number instead of starting over at zero, which
// would let the costliest rules look cheap.
func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}
