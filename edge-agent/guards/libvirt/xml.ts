// Reads XML as libvirt writes it: elements, attributes, text, CDATA, comments and the five
// predefined entities. A document type, and with it an entity of its own, is refused.

import { xmlEntities } from '#core/contracts/xml-entities.ts';

export type XmlToken =
  | {
      readonly kind: 'open';
      readonly name: string;
      readonly attributes: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

/** The message is a clause that completes "It ...". */
export class XmlInvalid extends Error {
  override readonly name = 'XmlInvalid';
}

/**
 * A disk of libvirt has at most 200 layers, each an element within the one above
 * (qemuDomainStorageSourceValidateDepth); other elements are ten levels deep at most. A document
 * of a megabyte could open 300,000.
 */
const depthMax = 256;
const attributesMax = 200;
/** The longest is that of a character by its number. */
const referenceMax = 12;

// Sticky, and each a run of one class of characters: none of them backtracks.
const namePattern = /[A-Za-z_][A-Za-z0-9_.:-]{0,255}/y;
const blanksPattern = /[ \t\r\n]*/y;

/**
 * Each element that is opened is closed, in the right order, and there is one that holds the
 * others.
 *
 * @throws XmlInvalid
 */
export function* tokenize(text: string): Generator<XmlToken> {
  const opened: string[] = [];
  let hasRoot = false;
  let at = text.startsWith('\ufeff') ? 1 : 0;
  while (at < text.length) {
    if (text[at] !== '<') {
      const end = orEnd(text.indexOf('<', at), text);
      const plain = decoded(text.slice(at, end));
      if (opened.length > 0) yield { kind: 'text', text: plain };
      else if (plain.trim() !== '') throw new XmlInvalid('has text beside its element');
      at = end;
    } else if (text.startsWith('<!--', at)) at = after(text, '-->', at + 4, 'a comment');
    else if (text.startsWith('<?', at)) at = after(text, '?>', at + 2, 'an instruction');
    else if (text.startsWith('<![CDATA[', at)) {
      if (opened.length === 0) throw new XmlInvalid('has text beside its element');
      const end = after(text, ']]>', at + 9, 'a CDATA section');
      yield { kind: 'text', text: text.slice(at + 9, end - 3) };
      at = end;
    } else if (text.startsWith('<!', at)) throw new XmlInvalid('has a document type');
    else if (text[at + 1] === '/') {
      const name = opened.pop();
      const end = name === undefined ? at : skipBlanks(text, at + 2 + name.length);
      if (name === undefined || !text.startsWith(name, at + 2) || text[end] !== '>') {
        throw new XmlInvalid(`does not close ${name ?? 'what it opens'}`);
      }
      yield { kind: 'close', name };
      at = end + 1;
    } else {
      if (opened.length === 0 && hasRoot) throw new XmlInvalid('has a second element');
      hasRoot = true;
      const tag = tagAt(text, at + 1);
      yield { kind: 'open', name: tag.name, attributes: tag.attributes };
      if (tag.isEmpty) yield { kind: 'close', name: tag.name };
      else opened.push(tag.name);
      if (opened.length > depthMax) throw new XmlInvalid(`has more than ${depthMax} levels`);
      at = tag.end;
    }
  }
  if (!hasRoot) throw new XmlInvalid('has no element');
  if (opened.length > 0) throw new XmlInvalid(`ends within ${opened.at(-1)}`);
}

interface Tag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isEmpty: boolean;
  readonly end: number;
}

function tagAt(text: string, start: number): Tag {
  const name = nameAt(text, start);
  const attributes = new Map<string, string>();
  let at = start + name.length;
  for (;;) {
    const next = skipBlanks(text, at);
    if (text[next] === '>') return { name, attributes, isEmpty: false, end: next + 1 };
    if (text.startsWith('/>', next)) return { name, attributes, isEmpty: true, end: next + 2 };
    if (next === at || attributes.size >= attributesMax) throw new XmlInvalid(notATag(name));
    const key = nameAt(text, next);
    const equals = skipBlanks(text, next + key.length);
    const open = skipBlanks(text, equals + 1);
    const quote = text[open];
    if (text[equals] !== '=' || (quote !== "'" && quote !== '"')) {
      throw new XmlInvalid(notATag(name));
    }
    const close = text.indexOf(quote, open + 1);
    const value = text.slice(open + 1, close);
    if (close < 0 || value.includes('<')) throw new XmlInvalid(notATag(name));
    if (attributes.has(key)) throw new XmlInvalid(`has the attribute ${key} twice in ${name}`);
    attributes.set(key, decoded(value));
    at = close + 1;
  }
}

function notATag(name: string): string {
  return `has an invalid element ${name}`;
}

function nameAt(text: string, at: number): string {
  namePattern.lastIndex = at;
  const [name] = namePattern.exec(text) ?? [];
  if (name === undefined) throw new XmlInvalid('has an invalid name');
  return name;
}

function skipBlanks(text: string, at: number): number {
  blanksPattern.lastIndex = at;
  return at + (blanksPattern.exec(text)?.[0].length ?? 0);
}

function after(text: string, mark: string, from: number, part: string): number {
  const index = text.indexOf(mark, from);
  if (index < 0) throw new XmlInvalid(`ends within ${part}`);
  return index + mark.length;
}

function orEnd(index: number, text: string): number {
  return index < 0 ? text.length : index;
}

function decoded(text: string): string {
  let plain = '';
  let from = 0;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', from)) {
    const reference = text.slice(at + 1, at + referenceMax);
    const length = reference.indexOf(';');
    plain += text.slice(from, at) + decodeEntity(reference.slice(0, Math.max(0, length)));
    from = at + length + 2;
  }
  return plain + text.slice(from);
}

function decodeEntity(reference: string): string {
  const entity = Object.hasOwn(xmlEntities, reference) ? xmlEntities[reference] : undefined;
  if (entity !== undefined) return entity;
  const [, decimal, hex] = /^#(?:(\d{1,7})|x([0-9a-fA-F]{1,6}))$/.exec(reference) ?? [];
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  if (!(code > 0 && code <= 0x10ffff)) throw new XmlInvalid('has an unknown entity');
  return String.fromCodePoint(code);
}
