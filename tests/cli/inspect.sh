#!/usr/bin/env bash
# usage: inspect.sh STEPC MAKE_NPY
# Inspect: figures of a network that can be counted by hand, limits, and well-formed files whatever the names are.
# shellcheck source=tests/cli/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prepared train.onnx 0.3
inspect=("$stepc" inspect train.onnx --dim batch=32)

# 64 x 32 + 32 + 32 x 10 + 10 weights and a learning rate; hidden is 32 x 32 floats.
expect 0 "${inspect[@]}" --json train.json --html train.html --dot train.dot
[ ! -s stderr ] || fail 'a message without reason'
mv stdout train.txt
has train.txt 'trains     2410 parameters in 4 tensors; 0 in 0 tensors are frozen'
has train.txt 'loss: loss = SoftmaxCrossEntropyLoss<reduction=mean>(logits, target)'
has train.txt "learning rate: variable 'learning_rate', initially 0.3"
has train.txt 'optimizer: gradient descent, X - R * G'
has train.txt 'state 9644,'
has train.txt 'hidden [32,32] float'
expect 0 "${inspect[@]}" --json - --html again.html --dot again.dot
same stdout train.json
same again.html train.html
same again.dot train.dot
expect 0 "${inspect[@]}" --quiet
[ ! -s stdout ] || fail '--quiet prints'

# What compile emits has these sizes.
expect 0 "$stepc" compile train.onnx -o train.c --dim batch=32
ram=$(sed -n 's/^ "ram_bytes": \([0-9]*\),$/\1/p' <(tr -s ' ' <train.json))
arena=$(sed -n 's/.*ARENA_BYTES ((size_t)\([0-9]*\)).*/\1/p' train.h)
[ "$ram" -eq $((9644 + arena)) ] || fail "RAM $ram is not the state and an arena of $arena bytes"

# Inference models too, and training in one go.
expect 0 "$stepc" inspect "$source_folder/examples/digits/model.onnx" --dim batch=1 --html infer.html
has stdout 'trains     0 parameters in 0 tensors; 2410 in 4 tensors are frozen'
lacks stdout 'entry step'
expect 0 "$stepc" inspect "$source_folder/examples/digits/model.onnx" --dim batch=32 --loss softmax-cross-entropy --optimizer adam --entries step
has stdout 'optimizer: Adam<alpha=0.9, beta=0.999, '
lacks stdout 'entry infer'

expect 0 "$stepc" inspect "$source_folder/examples/digits/model.onnx" --dim batch=8 --loss mse --optimizer adamw --split --evaluate
has stdout 'apply      optimizer: written out (Add, '
has stdout "learning rate: variable 'learning_rate', initially 0.001"
has stdout 'accumulate loss: '

# Limits: what fits exactly is no error.
expect 0 "${inspect[@]}" --quiet --max-ram "$ram" --max-flash 9640
expect 1 "${inspect[@]}" --max-ram $((ram - 1)) --json limited.json
has stderr "RAM: $ram bytes are needed, 1 more than --max-ram $((ram - 1)): state 9644, arena $arena"
has stderr "largest in the state: 'fc1.weight' (8192 bytes)"
same limited.json train.json
expect 1 "${inspect[@]}" --quiet --max-flash 9K
has stderr 'flash: 9640 bytes of constants are needed, 424 more than --max-flash 9216'
expect 2 "${inspect[@]}" --max-ram 9X
expect 2 "${inspect[@]}" --max-flash 99999999999999999999
expect 1 "${inspect[@]}" --html no/such/folder/x.html
expect 1 "$stepc" inspect train.onnx --html broken.html --entries nothing
[ ! -e broken.html ] || fail 'a file without a report'

# Names may be anything: they come from the file.
cat >hostile.onnxtxt <<'END'
< ir_version: 10, opset_import: ["" : 17] >
"<b>&\"quoted\"</b>" (float[2,3] "<script>alert(1)</script>") => (float[2,3] "</svg>'\\")
{
  ["--> <!-- ]]>"] "\u001b[31m" = Sin ("<script>alert(1)</script>")
  "</svg>'\\" = Cos ("\u001b[31m")
}
END
expect 0 "$stepc" inspect hostile.onnxtxt --json hostile.json --html hostile.html --dot hostile.dot
lacks stdout "$(printf '\033')"
lacks hostile.html '<script'
lacks hostile.html '<b>&'
lacks hostile.html "$(printf '\033')"
has hostile.html '&lt;script&gt;alert(1)&lt;/script&gt;'
has hostile.dot "</svg>'\\\\"

# Elements are closed in their order, pictures are XML, nothing comes from elsewhere, links lead somewhere.
cat >check.py <<'END'
import html.parser, json, re, sys, xml.etree.ElementTree as ET
VOID = {'meta', 'br', 'link'}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []
    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        assert tag not in ('script', 'link', 'img', 'iframe', 'object') and 'src' not in a, tag
        assert not any(name.startswith('on') for name in a), a
        if 'id' in a:
            self.ids.append(a['id'])
        if tag == 'a':
            assert a['href'].startswith('#'), a
            self.links.append(a['href'][1:])
        if tag not in VOID:
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()
for name in sys.argv[1:]:
    text = open(name, encoding='utf-8').read()
    if name.endswith('.json'):
        report = json.loads(text)
        assert report['schema'] == 1
        for e in report['entries']:
            for t in e['temporaries']:
                assert t['offset'] + t['bytes'] <= e['arena_bytes'] and t['first_kernel'] <= t['last_kernel'] < len(e['kernels'])
            if e['temporaries']:
                assert max(k['alive_bytes'] for k in e['kernels']) == e['arena_lower_bound'] <= e['arena_bytes']
                assert e['kernels'][e['peak_kernel']]['alive_bytes'] == e['arena_lower_bound']
            assert sum(k['flops'] for k in e['kernels'] if k['function']) == e['flops']
    else:
        page = Page()
        page.feed(text)
        page.close()
        assert not page.open, page.open
        assert len(set(page.ids)) == len(page.ids), page.ids
        assert set(page.links) <= set(page.ids), set(page.links) - set(page.ids)
        assert not re.search(r'https?://(?!www\.w3\.org/2000/svg")', text), 'something from elsewhere'
        pictures = re.findall(r'<svg.*?</svg>', text, re.S)
        assert len(pictures) > 1
        for picture in pictures:
            ET.fromstring(picture.replace('<svg width="0" height="0"', '<svg'))
END
if command -v python3 >/dev/null; then
    python3 check.py train.json hostile.json train.html infer.html hostile.html || fail 'a file is not well-formed'
    python3 -c '
import json
r = json.load(open("hostile.json"))
assert r["entries"][-1]["inputs"][0]["name"] == "<script>alert(1)</script>", r["entries"][-1]["inputs"]
r = json.load(open("train.json"))
assert r["parameter_counts"]["weight"] == {"tensors": 4, "elements": 2410, "bytes": 9640}
step = {e["name"]: e for e in r["entries"]}["step"]
assert step["inputs"][0] == {"name": "x", "dtype": "float", "shape": [32, 64], "bytes": 8192}
assert r["memory"]["arena_bytes"] == max(e["arena_bytes"] for e in r["entries"])
assert 5 * 2 * 32 * 32 * 10 + 3 * 2 * 32 * 32 * 64 > step["flops"] > 2 * 2 * 32 * 32 * 64 + 3 * 2 * 32 * 32 * 10
hidden = [t for t in step["temporaries"] if t["name"] == "hidden"][0]
assert hidden["kind"] == "kept" and hidden["bytes"] == 4096
' || fail 'a figure is wrong'
fi
if command -v dot >/dev/null; then
    expect 0 dot -Tsvg hostile.dot
    expect 0 dot -Tsvg train.dot
fi
