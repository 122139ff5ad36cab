// An action: one request to the API, a sentence that explains it, and the input that it needs.

import type { Method } from '#console/api/client.ts';

interface ActionRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
}

type ActionField = 'reason' | 'required-reason' | 'until' | 'cleaned';

export interface ActionValues {
  readonly reason?: string;
  /** ISO 8601, UTC. */
  readonly until?: string;
  readonly isCleaned?: boolean;
}

export interface Action {
  /** Label of its button. */
  readonly verb: string;
  readonly object: string;
  readonly explains: string;
  readonly fields: readonly ActionField[];
  /** It cannot be undone. */
  readonly isFinal?: boolean;
  /** What it hits: a request whose answer is shown in a sentence. */
  readonly hits?: { readonly path: string; readonly text: (answer: unknown) => string };
  readonly request: (values: ActionValues) => ActionRequest;
  readonly done: (answer: unknown) => string;
}
