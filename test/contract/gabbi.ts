// Runs HTTP tests written in gabbi's YAML: the part of its vocabulary that our files use.
// https://gabbi.readthedocs.io/en/latest/format.html

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import * as z from 'zod';
import { jsonPath } from './json-path.ts';

const text = z.record(z.string(), z.union([z.string(), z.number()]));

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS'] as const;

const fields = {
  desc: z.string().optional(),
  method: z.enum(methods).optional(),
  url: z.string().optional(),
  ...Object.fromEntries(methods.map((method) => [method, z.string().optional()])),
  request_headers: text.optional(),
  query_parameters: text.optional(),
  data: z.unknown().optional(),
  status: z.union([z.number(), z.string()]).optional(),
  response_headers: text.optional(),
  response_forbidden_headers: z.array(z.string()).optional(),
  response_strings: z.array(z.string()).optional(),
  response_json_paths: z.record(z.string(), z.unknown()).optional(),
  poll: z.strictObject({ count: z.int(), delay: z.number() }).optional(),
};

const testFile = z.strictObject({
  defaults: z.strictObject(fields).optional(),
  tests: z.array(z.strictObject({ name: z.string(), ...fields })),
});

type GabbiTest = z.infer<typeof testFile>['tests'][number];

export interface Exchanged {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

/** The answer differs from the file; the message says where. */
export class Unexpected extends Error {
  override readonly name = 'Unexpected';
}

/** A test names an environment variable that is not set: not every server has every persona. */
export class VariableMissing extends Error {
  override readonly name = 'VariableMissing';
}

/** @throws ZodError for keys that this runner does not know */
export function readTests(file: string): GabbiTest[] {
  const { defaults = {}, tests } = testFile.parse(parse(readFileSync(file, 'utf8')));
  return tests.map((test) => ({
    ...defaults,
    ...test,
    request_headers: { ...defaults.request_headers, ...test.request_headers },
  }));
}

/** The tests of one file, in order: later ones refer to the answers of earlier ones. */
export class GabbiRun {
  readonly #base: string;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #history = new Map<string, Exchanged>();
  #last: Exchanged | undefined;

  /** @param base e.g. `http://127.0.0.1:6666/accelerator` */
  constructor(base: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#base = base;
    this.#environment = environment;
  }

  /** @throws Unexpected, VariableMissing */
  async run(test: GabbiTest): Promise<Exchanged> {
    const { count, delay } = test.poll ?? { count: 1, delay: 0 };
    for (let attempt = 1; ; attempt++) {
      const exchanged = await this.#ask(test);
      try {
        this.#check(test, exchanged);
        this.#last = exchanged;
        this.#history.set(test.name, exchanged);
        return exchanged;
      } catch (error) {
        if (attempt >= count) throw error;
        await sleep(delay * 1000);
      }
    }
  }

  async #ask(test: GabbiTest): Promise<Exchanged> {
    const named = methods.find((method) => (test as Record<string, unknown>)[method] !== undefined);
    const method = named ?? test.method ?? 'GET';
    const path = String((test as Record<string, unknown>)[named ?? 'url'] ?? '/');
    const query = new URLSearchParams(this.#filled(test.query_parameters)).toString();
    const url = this.#fill(path) + (query === '' ? '' : `?${query}`);
    const response = await fetch(url.startsWith('http') ? url : this.#base + url, {
      method,
      headers: this.#filled(test.request_headers),
      ...(test.data !== undefined && { body: this.#body(test.data) }),
    });
    const received = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return {
      method,
      url,
      status: response.status,
      headers: response.headers,
      text: received,
      json: isJson && received !== '' ? JSON.parse(received) : undefined,
    };
  }

  #filled(given: Readonly<Record<string, string | number>> = {}): Record<string, string> {
    return Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, this.#fill(value)]),
    );
  }

  #body(data: unknown): string {
    return this.#fill(typeof data === 'string' ? data : JSON.stringify(data));
  }

  /** `$ENVIRON['X']`, `$RESPONSE['$.path']`, `$HISTORY['name'].$RESPONSE['$.path']`. */
  #fill(value: string | number): string {
    return String(value)
      .replaceAll(/\$ENVIRON\['(\w+)'\]/g, (_, name: string) => {
        const found = this.#environment[name];
        if (found === undefined) throw new VariableMissing(name);
        return found;
      })
      .replaceAll(/\$HISTORY\['([^']+)'\]\.\$RESPONSE\['([^']+)'\]/g, (_, name, path) =>
        this.#answered(this.#history.get(name), `'${name}'`, path),
      )
      .replaceAll(/\$RESPONSE\['([^']+)'\]/g, (_, path) =>
        this.#answered(this.#last, 'the last test', path),
      );
  }

  #answered(exchanged: Exchanged | undefined, of: string, path: string): string {
    const value = exchanged && jsonPath(exchanged.json, path);
    if (value === undefined) throw new Unexpected(`${of} was answered no ${path}.`);
    return String(value);
  }

  #check(test: GabbiTest, { status, headers, text: body, json }: Exchanged): void {
    const expected = String(test.status ?? 200).split(/\s*\|\|\s*/);
    if (!expected.includes(String(status))) {
      throw new Unexpected(`status ${status}, not ${expected.join(' or ')}: ${body.slice(0, 500)}`);
    }
    for (const [name, value] of Object.entries(test.response_headers ?? {})) {
      this.#compare(`header ${name}`, headers.get(name), value);
    }
    for (const name of test.response_forbidden_headers ?? []) {
      if (headers.has(name)) throw new Unexpected(`there is a header ${name}.`);
    }
    for (const part of test.response_strings ?? []) {
      const filled = this.#fill(part);
      if (!body.includes(filled)) throw new Unexpected(`no ${filled} in ${body.slice(0, 500)}`);
    }
    for (const [path, value] of Object.entries(test.response_json_paths ?? {})) {
      this.#compare(path, jsonPath(json, path), value);
    }
  }

  /** `/…/` is a regular expression. */
  #compare(what: string, found: unknown, given: unknown): void {
    const expected = typeof given === 'string' ? this.#fill(given) : given;
    const pattern = typeof expected === 'string' && /^\/(.*)\/$/s.exec(expected)?.[1];
    // Substituted values are text, whatever they contain.
    const isFilled = expected !== given && typeof found === 'number';
    const fits = pattern
      ? found !== undefined && new RegExp(pattern).test(String(found))
      : JSON.stringify(isFilled ? String(found) : found) === JSON.stringify(expected);
    if (fits) return;
    throw new Unexpected(`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}.`);
  }
}
