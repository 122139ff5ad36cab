// Sentences about settings that a form refuses without words of its own: what is allowed, in the
// terms of a JSON file instead of those of the library.

import * as z from 'zod';
import type { SettingFault } from './define-driver.ts';

/** What a form says of settings: their values, or what is wrong with them. */
export function readForm<Settings>(
  form: z.ZodType<Settings>,
  input: unknown,
): { readonly value: Settings } | { readonly faults: readonly SettingFault[] } {
  const parsed = form.safeParse(input, { error: describeIssue });
  if (parsed.success) return { value: parsed.data };
  const faults = parsed.error.issues.map((issue) => ({
    path: issue.path.map(String),
    // A list's own words are about what it holds, not about how much.
    message: isTooLong(issue) ? `must have at most ${issue.maximum} entries` : issue.message,
  }));
  return { faults };
}

type Issue = z.core.$ZodIssue;
type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

function isTooLong(issue: Issue): issue is Issue & z.core.$ZodIssueTooBig {
  return issue.code === 'too_big' && issue.origin === 'array';
}

/** Undefined leaves the sentence to the library. */
function describeIssue(issue: RawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `unknown key ${unknown}; allowed are ${allowedKeys(issue.inst).join(', ')}`;
  }
  if (issue.input === undefined) return 'is missing';
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'invalid_type') return undefined;
  const keys = allowedKeys(issue.inst);
  if (issue.expected === 'object' && keys.length > 0) {
    return `must be an object; allowed keys are ${keys.join(', ')}`;
  }
  return kinds.get(issue.expected);
}

const kinds: ReadonlyMap<string, string> = new Map([
  ['string', 'must be a string'],
  ['array', 'must be a list'],
  ['object', 'must be an object'],
  ['record', 'must be an object'],
  ['boolean', 'must be true or false'],
  ['number', 'must be a number'],
  ['int', 'must be a whole number'],
]);

function allowedKeys(form: unknown): string[] {
  return form instanceof z.ZodObject ? Object.keys(form.shape) : [];
}
