// What a user can have the API do: one request, what it does in a sentence, and what it needs to
// know.

import type { Method } from '#console/api/client.ts';

export interface ActionRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
}

export type ActionField = 'reason' | 'required-reason' | 'until' | 'cleaned';

export interface ActionValues {
  readonly reason?: string;
  /** ISO 8601, UTC. */
  readonly until?: string;
  readonly isCleaned?: boolean;
}

export interface Action {
  /** Of the button that asks for it. */
  readonly verb: string;
  /** What it is done to. */
  readonly object: string;
  readonly explains: string;
  readonly fields: readonly ActionField[];
  /** It cannot be undone. */
  readonly isFinal?: boolean;
  readonly request: (values: ActionValues) => ActionRequest;
  readonly done: (answer: unknown) => string;
}
