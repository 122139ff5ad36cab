import { describe, expect, it } from 'vitest';
import { tokenize, XmlInvalid, type XmlToken } from '#agent/guards/libvirt/xml.ts';

/** Short forms: `<a x=1`, `>a`, `"text`. */
function shortened(token: XmlToken): string {
  if (token.kind === 'text') return `"${token.text}`;
  if (token.kind === 'close') return `>${token.name}`;
  return [`<${token.name}`, ...[...token.attributes].map(([key, to]) => `${key}=${to}`)].join(' ');
}

function read(text: string): string[] {
  return [...tokenize(text)].map(shortened);
}

describe('XML', () => {
  it.each([
    ['elements in each other', '<a><b/><c ></c\n></a>', ['<a', '<b', '>b', '<c', '>c', '>a']],
    ['attributes in both quotes', `<a x='1"' y = "2'"\n z=''/>`, [`<a x=1" y=2' z=`, '>a']],
    ['names with a prefix', '<n:a xmlns:n="u"/>', ['<n:a xmlns:n=u', '>n:a']],
    [
      'predefined entities',
      '<a x="&lt;&apos;">&amp;lt;&gt;&quot;</a>',
      [`<a x=<'`, '"&lt;>"', '>a'],
    ],
    ['characters by number', '<a>&#228;&#x1F600;</a>', ['<a', '"ä\u{1f600}', '>a']],
    ['CDATA', '<a><![CDATA[<b> &amp; ]]]]><![CDATA[>]]></a>', ['<a', '"<b> &amp; ]]', '">', '>a']],
    [
      'what is around the element',
      '\ufeff<?xml version="1.0"?>\n<!-- <a> - -->\n<a/>\n<!-- -->\n',
      ['<a', '>a'],
    ],
    [
      'a greater-than in text and in an attribute',
      '<a x=">">b > c</a>',
      ['<a x=>', '"b > c', '>a'],
    ],
    [
      'as many levels as a domain with a long chain of backing stores',
      '<a>'.repeat(256) + '</a>'.repeat(256),
      [...Array(256).fill('<a'), ...Array(256).fill('>a')],
    ],
  ])('has %s', (_what, text, tokens) => {
    expect(read(text)).toEqual(tokens);
  });

  it.each([
    ['nothing', '', 'has no element'],
    ['a comment alone', '<!-- -->', 'has no element'],
    ['a second element', '<a/><b/>', 'has a second element'],
    ['text before the element', 'x<a/>', 'has text beside its element'],
    ['CDATA after the element', '<a/><![CDATA[x]]>', 'has text beside its element'],
    ['an element without an end', '<a><b></b>', 'ends within a'],
    ['an end of another element', '<a><b></a></b>', 'does not close b'],
    ['an end whose name is longer', '<a></ab>', 'does not close a'],
    ['an end without a beginning', '<a/></a>', 'does not close what it opens'],
    ['a comment without an end', '<a><!-- </a>', 'ends within a comment'],
    ['CDATA without an end', '<a><![CDATA[ </a>', 'ends within a CDATA section'],
    ['an instruction without an end', '<a><? </a>', 'ends within an instruction'],
    ['an attribute without a value', '<a x></a>', 'has an invalid element a'],
    ['an attribute without quotes', '<a x=1/>', 'has an invalid element a'],
    ['an attribute without an end', '<a x="1/>', 'has an invalid element a'],
    ['an attribute that holds an element', '<a x="<b>"/>', 'has an invalid element a'],
    ['attributes without a blank between', '<a x="1"y="2"/>', 'has an invalid element a'],
    ['an attribute twice', '<a x="1" x="2"/>', 'has the attribute x twice in a'],
    ['a name that is none', '<1/>', 'has an invalid name'],
    ['an unknown entity', '<a>&lol;</a>', 'has an unknown entity'],
    ['an entity by the name of a property', '<a>&toString;</a>', 'has an unknown entity'],
    ['an ampersand alone', '<a>a & b</a>', 'has an unknown entity'],
    ['an entity without an end', '<a>&amp</a>', 'has an unknown entity'],
    ['a character that is none', '<a>&#x110000;</a>', 'has an unknown entity'],
    ['the character zero', '<a>&#0;</a>', 'has an unknown entity'],
    [
      'a document type with entities',
      '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d SYSTEM "file:///etc/passwd">]><a>&b;&d;</a>',
      'has a document type',
    ],
    ['a document type within', '<a><!DOCTYPE a></a>', 'has a document type'],
    ['more levels than any domain has', '<a>'.repeat(257), 'has more than 256 levels'],
    [
      'more attributes than any element has',
      `<a ${Array.from({ length: 201 }, (_, index) => `x${index}=""`).join(' ')}/>`,
      'has an invalid element a',
    ],
  ])('with %s is refused', (_what, text, reason) => {
    expect(() => read(text)).toThrow(new XmlInvalid(reason));
  });

  it.each([
    ['blanks', `<a ${' '.repeat(1_000_000)}`],
    ['a name', `<a ${'x'.repeat(1_000_000)}`],
    ['open comments', '<a>'.concat('<!-- '.repeat(200_000))],
    ['ampersands', `<a>${'&'.repeat(1_000_000)}`],
    ['openings', '<'.repeat(1_000_000)],
    ['equal signs', `<a ${'x='.repeat(500_000)}`],
  ])('of a megabyte of %s is refused at once', (_what, text) => {
    const before = process.cpuUsage();
    expect(() => read(text)).toThrow(XmlInvalid);
    // A reader whose work grows with the square takes minutes.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(2000);
  });
});
