// The account that the preflight looks at, as far as it looks.

import type { IncomingMessage } from 'node:http';
import { beforeEach, expect } from 'vitest';
import { password } from '#local/openstack/keystone/catalog.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { run } from '#test/agent/agent-process.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { perFile } from '#test/support/vitest/shared.ts';

type Answer = readonly [status: number, body: string];

/** What the account of the test has; each test changes what it is about. */
export interface Account {
  stacks: Record<string, string>;
  tables: string[];
  unprotected: string[];
  secret: string | undefined;
  executions: number;
  /** Requests a second of all APIs. */
  requests: number;
  /** Aliases that differ: the version that gets requests, and those with a part of them. */
  aliases: Record<string, readonly [version: string, parts?: Record<string, number>]>;
  certificate: Record<string, unknown>;
  /** What differs from a usable key; undefined if there is no key. */
  key: Record<string, unknown> | undefined;
  keyPolicy: string;
  refused: string[];
}

export const certificateArn = 'arn:aws:acm:eu-west-1:123456789012:certificate/abc';
export const day = 86_400;
export const now = Math.floor(Date.now() / 1000);
export const issued = { Status: 'ISSUED', DomainName: 'api.example.org', NotAfter: now + day };
export const dataKeyArn =
  'arn:aws:kms:eu-west-1:123456789012:key/5c1a1c1e-7a3b-4000-8000-000000000001';
/** Before each test it is an account that is ready. */
export const account = {} as Account;
let keystone: { readonly url: string };
let aws: { readonly url: string };

/** Serves the account to the tests of a file. */
export function serveAccount(): void {
  keystone = perFile(() => startKeystone({ host: '127.0.0.1', port: 0 }));
  aws = perFile(() =>
    serveHttp(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      const [status, text] = answer(request, body);
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(text);
    }),
  );
  beforeEach(() => {
    Object.assign(account, {
      stacks: { CDKToolkit: 'CREATE_COMPLETE' },
      tables: [],
      unprotected: [],
      secret: password,
      executions: 1000,
      requests: 10_000,
      aliases: {},
      certificate: issued,
      key: {},
      keyPolicy: '{"Principal":{"Service":"logs.eu-west-1.amazonaws.com"}}',
      refused: [],
    } satisfies Account);
  });
}

function answer({ url = '', headers }: IncomingMessage, body: string): Answer {
  const service = /\/([a-z]+)\/aws4_request/.exec(headers.authorization ?? '')?.[1] ?? '';
  if (account.refused.includes(service)) {
    return [403, '{"__type":"AccessDeniedException","message":"not allowed"}'];
  }
  const stack = new URLSearchParams(body).get('StackName') ?? '';
  const answers: Readonly<Record<string, () => Answer>> = {
    sts: () => [200, '<Arn>arn:aws:iam::123456789012:user/op</Arn><Account>123456789012</Account>'],
    cloudformation: () => {
      const status = account.stacks[stack];
      return status === undefined
        ? [400, '<Error><Code>ValidationError</Code><Message>no stack</Message></Error>']
        : [200, `<StackStatus>${status}</StackStatus>`];
    },
    secretsmanager: () =>
      account.secret === undefined
        ? [400, '{"__type":"ResourceNotFoundException"}']
        : [200, JSON.stringify({ SecretString: account.secret })],
    dynamodb: () =>
      account.tables.includes(JSON.parse(body).TableName)
        ? [200, tableAnswer(JSON.parse(body).TableName)]
        : [400, '{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}'],
    lambda: () => [200, lambdaAnswer(url)],
    apigateway: () => [200, JSON.stringify({ throttleSettings: { rateLimit: account.requests } })],
    acm: () => [200, JSON.stringify({ Certificate: account.certificate })],
    kms: () => keyAnswer(String(headers['x-amz-target'])),
    iot: () => [200, '{"endpointAddress":"a.iot.eu-west-1.amazonaws.com"}'],
  };
  return answers[service]?.() ?? [404, `{"message":"${service} ${url} is not played"}`];
}

function keyAnswer(target: string): Answer {
  if (account.key === undefined) return [400, '{"__type":"NotFoundException"}'];
  if (target.endsWith('GetKeyPolicy')) return [200, JSON.stringify({ Policy: account.keyPolicy })];
  const usable = {
    KeyState: 'Enabled',
    KeySpec: 'SYMMETRIC_DEFAULT',
    KeyUsage: 'ENCRYPT_DECRYPT',
  };
  return [200, JSON.stringify({ KeyMetadata: { ...usable, ...account.key } })];
}

/** Each function has published fifty-one versions, on two pages. */
function lambdaAnswer(url: string): string {
  const [, name = '', part = ''] = /functions\/([\w-]+)\/(\w+)/.exec(url) ?? [];
  if (part === 'versions') {
    const isSecond = url.endsWith('?Marker=next');
    const Versions = isSecond ? [{ Version: '51' }] : [{ Version: '$LATEST' }, { Version: '50' }];
    return JSON.stringify({ Versions, NextMarker: isSecond ? null : 'next' });
  }
  if (part === 'aliases') {
    const [FunctionVersion, parts] = account.aliases[name] ?? ['51'];
    return JSON.stringify({ FunctionVersion, RoutingConfig: { AdditionalVersionWeights: parts } });
  }
  return JSON.stringify({ AccountLimit: { ConcurrentExecutions: account.executions } });
}

function tableAnswer(name: string): string {
  const DeletionProtectionEnabled = !account.unprotected.includes(name);
  return JSON.stringify({ Table: { DeletionProtectionEnabled } });
}

export interface Told {
  readonly code: number | null;
  readonly output: string;
}

export async function preflight(
  settings: Readonly<Record<string, string>> = {},
  variables: Readonly<Record<string, string | undefined>> = {},
): Promise<Told> {
  const given = { stage: 'pre', keystoneUrl: keystone.url, ...settings };
  const options = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: '/nonexistent',
    AWS_ENDPOINT_URL: aws.url,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
    ...variables,
  };
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const program = run('infra/preflight/main.ts', Object.fromEntries(set), options);
  const code = await program.exited();
  return { code, output: program.output() };
}

/** The fault of that check and the command that mends it. */
export function fault({ output }: Told, check: string): [string, string] {
  const lines = output.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`WRONG  ${check}: `));
  return [lines[at] ?? output, lines[at + 1] ?? ''];
}

export type Case = readonly [
  fault: string,
  check: string,
  account: Partial<Account>,
  settings: Readonly<Record<string, string>>,
  said: string,
  command: string,
];

/** The preflight names the fault and the command, and nothing that it should not. */
export async function namesFault(...[, check, changes, settings, said, command]: Case) {
  Object.assign(account, changes);
  const told = await preflight(settings);
  const [line, remedy] = fault(told, check);
  expect(line).toContain(said);
  expect(remedy).toContain(command);
  expect(told.code).toBe(1);
  expect(told.output).not.toMatch(/\n {4}at /);
  expect(told.output).not.toContain(password);
}
