// The request's body and query, parsed and validated before an action sees them.

import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import { InvalidInput } from '#core/domain/errors.ts';
import { HttpFault } from '#functions/http/faults.ts';

const bodyBytesMax = 1024 * 1024;
const secretBytesMax = 16 * 1024;

/**
 * The parsed body; undefined if there is none and the schema allows that.
 *
 * @throws HttpFault 413, 415; InvalidInput if the body is not valid UTF-8 or JSON
 */
export function readBody(
  event: APIGatewayProxyEventV2,
  schema: z.ZodType,
  hasSecret = false,
): unknown {
  const text = event.isBase64Encoded
    ? Buffer.from(event.body ?? '', 'base64').toString('utf8')
    : (event.body ?? '');
  const bytesMax = hasSecret ? secretBytesMax : bodyBytesMax;
  if (Buffer.byteLength(text) > bytesMax) {
    throw new HttpFault(413, `The body is larger than ${bytesMax} bytes.`);
  }
  if (text === '') {
    if (schema.safeParse(undefined).success) return undefined;
    throw new InvalidInput('The request needs a body.');
  }
  const type = event.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new HttpFault(415, `The body must be application/json, not ${type || 'of no type'}.`);
  }
  // API Gateway and the decoder put U+FFFD in place of bytes that are not UTF-8.
  const damagedAt = text.indexOf('\ufffd');
  if (damagedAt >= 0) {
    throw new InvalidInput(
      `The body is not valid UTF-8 after ${damagedAt} characters; the character U+FFFD itself must be written as \\ufffd.`,
    );
  }
  try {
    return JSON.parse(text, wellFormed);
  } catch (error) {
    if (error instanceof InvalidInput) throw error;
    // The parser's message quotes the text.
    if (hasSecret) throw new InvalidInput('The body is not valid JSON.');
    throw new InvalidInput(`The body is not valid JSON: ${(error as Error).message}`);
  }
}

/** DynamoDB does not store half of a surrogate pair, and schemas do not see `__proto__`. */
function wellFormed(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new InvalidInput('The body may not have the key "__proto__".');
  for (const text of [key, value]) {
    if (typeof text !== 'string' || text.isWellFormed()) continue;
    throw new SyntaxError(`${JSON.stringify(text)} is no text: half of a surrogate pair`);
  }
  return value;
}

/** @throws InvalidInput naming the place that is wrong, e.g. `groups[0]` */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { error: whatIsAllowed });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidInput(describeIssue(issue));
}

/** Says what is allowed, in place of Zod's words; undefined leaves those. */
function whatIsAllowed(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const isMissing = issue.input === undefined;
      return `${isMissing ? 'is missing, and ' : ''}must be ${typeName(issue.expected)}`;
    }
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'invalid_format':
      return formats[issue.format];
    case 'too_small':
      return describeBound(issue.origin, 'least', issue.minimum);
    case 'too_big':
      return describeBound(issue.origin, 'most', issue.maximum);
    default:
      return undefined;
  }
}

const formats: Readonly<Record<string, string>> = {
  guid: 'must be a UUID',
  uuid: 'must be a UUID',
  datetime: 'must be a time with its zone, such as 2026-03-01T12:00:00Z',
};

function typeName(type: string): string {
  const name = { int: 'integer', array: 'list', record: 'object' }[type] ?? type;
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

function describeBound(origin: string, side: 'least' | 'most', bound: number | bigint) {
  const parts = { string: 'character', array: 'item' }[origin];
  if (parts !== undefined) return `must have at ${side} ${bound} ${parts}${bound === 1 ? '' : 's'}`;
  return origin === 'number' || origin === 'int' ? `must be at ${side} ${bound}` : undefined;
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (!issue) return 'The request is not valid.';
  const nearest = issue.code === 'invalid_union' && findNearest(issue.errors);
  if (nearest) return describeIssue({ ...nearest, path: [...issue.path, ...nearest.path] });
  const where = issue.path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
  if (where !== '') return `${where}: ${issue.message}.`;
  return issue.message.startsWith('must ') ? `The body ${issue.message}.` : `${issue.message}.`;
}

/** The issue of the form that is most like the value, if there is one. */
function findNearest(forms: readonly z.core.$ZodIssue[][]): z.core.$ZodIssue | undefined {
  const isOfForm = ([first]: z.core.$ZodIssue[]) => first && first.path.length > 0;
  const near = forms.filter(isOfForm).sort((one, other) => one.length - other.length);
  const [nearest, next] = near;
  return nearest && nearest.length < (next?.length ?? Number.POSITIVE_INFINITY)
    ? nearest[0]
    : undefined;
}
