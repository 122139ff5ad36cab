// The part of a route that is its own: its schemas and what it does. resource-handler.ts is the
// middleware stack around it.

import * as z from 'zod';
import type { Deps, NovaDeps, RequestDeps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { PolicyRule } from '#core/domain/policy.ts';
import type { LogFields } from '#core/log.ts';
import type { Microversion } from './request/microversion.ts';

export interface Request<Query, Body, Own extends RequestDeps = Deps> {
  readonly deps: Own;
  readonly caller: Caller;
  readonly microversion: Microversion;
  /** `{id}` of the path. */
  readonly id: string;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The address that the gateway saw. */
  readonly sourceAddress: string;
  readonly query: Query;
  readonly body: Body;
  /** Scheme and host for links. */
  readonly base: string;
  /** Adds to the request's log line what the request is about. */
  readonly about: (fields: LogFields) => void;
}

export interface Reply {
  /** If it differs from the route's. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** In place of a body, what is not JSON. */
  readonly bytes?: Uint8Array;
}

export interface Schemas<Query, Body> {
  /** An unknown parameter is an error on every route; without it, any parameter is. */
  readonly query?: z.ZodType<Query>;
  /** Undefined: the route takes no body and reads none. */
  readonly body?: z.ZodType<Body>;
  /** The body has a secret: it is short, and no answer and no log line quotes it. */
  readonly hasSecret?: boolean;
  /** The body in the OpenAPI document, if it is not the schema that is validated first. */
  readonly documentedBody?: z.ZodType;
  /** Status → schema of the answer; null: no body. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>;
  /** The media type of an answer that is text, in place of JSON. */
  readonly answersAs?: string;
  /**
   * Rules that open the route beside its own, for bodies that name what is done: the action
   * enforces the rule of each.
   */
  readonly rulesBeside?: readonly PolicyRule[];
  /** Error statuses of this route, beside those of all routes. */
  readonly refuses?: readonly number[];
}

export interface Action {
  readonly schemas: Schemas<unknown, unknown> & { readonly query: z.ZodType };
  readonly run: (request: Request<unknown, unknown, RequestDeps>) => Promise<Reply>;
}

const noQuery = z.strictObject({});

/** @template Own the dependencies with which the resource's handler is made */
export function action<
  Query = Record<string, never>,
  Body = undefined,
  Own extends RequestDeps = Deps,
>(
  schemas: Schemas<Query, Body>,
  run: (request: Request<Query, Body, Own>) => Promise<Reply>,
): Action {
  // The middleware stack validates with these schemas before the call.
  return { schemas: { query: noQuery, ...schemas }, run: run as Action['run'] };
}

/** An action on Nova's path. */
export function novaAction<Query = Record<string, never>, Body = undefined>(
  schemas: Schemas<Query, Body>,
  run: (request: Request<Query, Body, NovaDeps>) => Promise<Reply>,
): Action {
  return action<Query, Body, NovaDeps>(schemas, run);
}
