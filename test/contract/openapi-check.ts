// Compares answers with the OpenAPI document that the same server publishes.

import * as z from 'zod';
import { type Exchanged, Unexpected } from './gabbi.ts';

type Json = Readonly<Record<string, unknown>>;
type Operation = { readonly responses: Readonly<Record<string, Documented>> };
interface Documented {
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

export interface Checked {
  /** e.g. `GET /v2/devices/{id}`; undefined for a path or method that is not in the document. */
  readonly route?: string;
}

export class OpenApiCheck {
  readonly #document: OpenApi;
  readonly #schemas = new Map<Json, z.ZodType>();

  constructor(document: OpenApi) {
    this.#document = document;
  }

  /** Each documented `<method> <path> <status>`. */
  documented(): string[] {
    return Object.entries(this.#document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        Object.keys(responses)
          .filter((status) => status !== '5XX')
          .map((status) => `${method.toUpperCase()} ${path} ${status}`),
      ),
    );
  }

  /** @throws Unexpected if the status is not documented, or the body does not match its schema */
  check({ method, url, status, json, text }: Exchanged): Checked {
    const path = this.pathOf(url);
    const operation = path && this.#document.paths[path]?.[method.toLowerCase()];
    if (!path || !operation) {
      if (status !== 401) this.#hold(this.#schema('Fault'), json, `${method} ${url}`);
      return {};
    }
    const route = `${method} ${path}`;
    const documented = operation.responses[status];
    if (!documented) throw new Unexpected(`${route} is not documented to answer ${status}.`);
    const [content] = Object.entries(documented.content ?? {});
    if (content) {
      const [type, { schema }] = content;
      this.#hold(schema, type === 'application/json' ? json : text, `${route} ${status}`);
    } else if (text !== '')
      throw new Unexpected(`${route} ${status} is documented to have no body.`);
    return { route };
  }

  pathOf(url: string): string | undefined {
    const given = (url.split('?')[0] ?? '').replace(/(.)\/$/, '$1').split('/');
    return Object.keys(this.#document.paths).find((path) => {
      const parts = path.split('/');
      return (
        parts.length === given.length &&
        parts.every((part, index) => part.startsWith('{') || part === given[index])
      );
    });
  }

  #hold(schema: Json, value: unknown, where: string): void {
    const known = this.#schemas.get(schema) ?? z.fromJSONSchema(this.#resolve(schema) as never);
    this.#schemas.set(schema, known);
    const parsed = known.safeParse(value);
    if (!parsed.success) {
      throw new Unexpected(`${where} is not as documented: ${z.prettifyError(parsed.error)}`);
    }
  }

  #schema(name: string): Json {
    const schema = this.#document.components.schemas[name];
    if (!schema) throw new Unexpected(`The document has no schema ${name}.`);
    return schema;
  }

  /** The schema with its references resolved. */
  #resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#resolve(each));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref } = value as { $ref?: string };
    if ($ref) return this.#resolve(this.#schema($ref.split('/').at(-1) ?? ''));
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.#resolve(each)]),
    );
  }
}
