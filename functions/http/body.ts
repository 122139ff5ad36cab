// The request's body and query, parsed and validated before an action sees them.

import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import { InvalidInput } from '#core/domain/errors.ts';
import { HttpFault } from './faults.ts';

const bodyBytesMax = 1024 * 1024;

/**
 * The body, parsed; undefined where there is none and the schema does without.
 *
 * @throws HttpFault 413, 415; InvalidInput for what is no JSON
 */
export function readBody(event: APIGatewayProxyEventV2, schema: z.ZodType): unknown {
  const text = event.isBase64Encoded
    ? Buffer.from(event.body ?? '', 'base64').toString('utf8')
    : (event.body ?? '');
  if (Buffer.byteLength(text) > bodyBytesMax) {
    throw new HttpFault(413, `The body is larger than ${bodyBytesMax} bytes.`);
  }
  if (text === '') {
    if (schema.safeParse(undefined).success) return undefined;
    throw new InvalidInput('The request needs a body.');
  }
  const type = event.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new HttpFault(415, `The body must be application/json, not ${type || 'of no type'}.`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidInput(`The body is no JSON: ${(error as Error).message}`);
  }
}

/** @throws InvalidInput naming the place that is wrong, e.g. `groups[0]` */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidInput(sentenceOf(issue));
}

function sentenceOf(issue: z.core.$ZodIssue | undefined): string {
  if (!issue) return 'The request is not valid.';
  const where = issue.path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
  return where === '' ? `${issue.message}.` : `${where}: ${issue.message}.`;
}
