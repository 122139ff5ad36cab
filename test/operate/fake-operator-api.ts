// A fake cloud for cyborg-ops: Keystone's login, and answers by method and path.

import type { IncomingMessage } from 'node:http';
import { createFetch } from '#operate/any-port-fetch.ts';
import { openTerminal, type Terminal } from '#operate/ops/output/terminal.ts';
import { run } from '#operate/ops/run.ts';
import { serveHttp } from '#test/support/http-server.ts';

export interface Asked {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly token: string | undefined;
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

interface FakeCloud {
  readonly url: string;
  /** All requests but logins and look-ups of projects. */
  readonly asked: Asked[];
  readonly logins: unknown[];
  /** Answers the next request; the last answer stays. */
  answer(...answers: Answer[]): void;
  /** After `answer`: Keystone is away for the login of this number, counted from 1. */
  failLogin(number: number): void;
  stop(): void;
}

export const fakeToken = 'token-of-the-fake';

export async function startFakeCloud(): Promise<FakeCloud> {
  const asked: Asked[] = [];
  const logins: unknown[] = [];
  let answers: Answer[] = [];
  let failing = 0;
  const { url, stop } = await serveHttp(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const body = await bodyOf(request);
    const isLogin = path.endsWith('/auth/tokens');
    const [, project] = /^\/v3\/projects\?name=(.+)$/.exec(path) ?? [];
    if (isLogin) logins.push(body);
    else if (project === undefined)
      asked.push({ method, path, token: headers['x-auth-token'] as string | undefined, body });
    const answer = isLogin ? login(body) : project === undefined ? next() : projectOf(project);
    response.writeHead(answer.status, {
      'Content-Type': 'application/json',
      ...(isLogin && answer.status === 201 && { 'X-Subject-Token': fakeToken }),
    });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  });

  function next(): Answer {
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? { status: 200, body: {} };
  }

  /** Each name has a project, whose id is the name. */
  function projectOf(name: string): Answer {
    return { status: 200, body: { projects: [{ id: name, name, domain_id: 'default' }] } };
  }

  function login(body: unknown): Answer {
    if (logins.length === failing) return { status: 503 };
    const text = JSON.stringify(body);
    // An answer that repeats what was sent, as a proxy's page may.
    if (text.includes('wrong')) return { status: 401, body: { error: { message: text } } };
    const endpoints = [{ interface: 'public', region: 'One', url: `${url}/accelerator/v2` }];
    return { status: 201, body: { token: { catalog: [{ type: 'accelerator', endpoints }] } } };
  }

  return {
    url,
    asked,
    logins,
    answer(...given) {
      answers = [...given];
      asked.length = 0;
      logins.length = 0;
      failing = 0;
    },
    failLogin(number) {
      failing = number;
    },
    stop,
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? undefined : JSON.parse(text);
}

export interface Call {
  readonly width?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** As in a terminal. */
  readonly draw?: Terminal['draw'];
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}

/** One call of the command, as an operator of the fake cloud. */
export async function callOps(
  cloud: FakeCloud,
  words: readonly string[],
  { width, environment = {}, files = {}, draw, sleep = async () => {} }: Call = {},
) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await run(words, {
    environment: {
      OS_AUTH_URL: cloud.url,
      OS_USERNAME: 'op',
      OS_PASSWORD: 's3cret',
      OS_PROJECT_NAME: 'admin',
      ...environment,
    },
    readFile: (path) => files[path],
    createFetch,
    clock: () => Date.parse('2026-11-23T00:00:00Z'),
    sleep,
    width: width ?? Number.POSITIVE_INFINITY,
    out: (text) => out.push(text),
    show: openTerminal({ write: (text) => out.push(text.slice(0, -1)) }, {}).show,
    draw,
    err: (text) => err.push(text),
  });
  return { exitCode, out: out.join('\n'), err: err.join('\n') };
}
