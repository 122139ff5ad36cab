// `npm run preflight` names what would make a deployment fail, and the command that mends it.

import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { password } from '#local/openstack/keystone/catalog.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { run } from '#test/agent/agent-process.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { tenthOf } from '#test/support/vitest/sample.ts';
import { perFile } from '#test/support/vitest/shared.ts';

type Answer = readonly [status: number, body: string];

/** What the account of the test has; each test changes what it is about. */
interface Account {
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
  refused: string[];
}

const certificateArn = 'arn:aws:acm:eu-west-1:123456789012:certificate/abc';
const day = 86_400;
const now = Math.floor(Date.now() / 1000);
const issued = { Status: 'ISSUED', DomainName: 'api.example.org', NotAfter: now + day };
let account: Account;
const keystone = perFile(() => startKeystone({ host: '127.0.0.1', port: 0 }));
const aws = perFile(() =>
  serveHttp(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const [status, text] = answer(request, body);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(text);
  }),
);

beforeEach(() => {
  account = {
    stacks: { CDKToolkit: 'CREATE_COMPLETE' },
    tables: [],
    unprotected: [],
    secret: password,
    executions: 1000,
    requests: 10_000,
    aliases: {},
    certificate: issued,
    refused: [],
  };
});

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
    iot: () => [200, '{"endpointAddress":"a.iot.eu-west-1.amazonaws.com"}'],
  };
  return answers[service]?.() ?? [404, `{"message":"${service} ${url} is not played"}`];
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

interface Told {
  readonly code: number | null;
  readonly output: string;
}

async function preflight(
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
function fault({ output }: Told, check: string): [string, string] {
  const lines = output.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`WRONG  ${check}: `));
  return [lines[at] ?? output, lines[at + 1] ?? ''];
}

type Case = readonly [
  fault: string,
  check: string,
  account: Partial<Account>,
  settings: Readonly<Record<string, string>>,
  said: string,
  command: string,
];

const domain = { domainName: 'api.example.org', certificateArn };

it('finds nothing wrong in an account that is ready', async () => {
  const told = await preflight(domain);
  expect(told.output).toContain('12 ok, 0 wrong, 0 undetermined');
  expect(told.code).toBe(0);
});

describe('it says, with the command that mends it, that', () => {
  const cases: readonly Case[] = [
    [
      'the secret is missing',
      'secret of the password',
      { secret: undefined },
      {},
      'Secret cyborg/keystone-password does not exist in eu-west-1.',
      'aws secretsmanager create-secret --region eu-west-1 --name cyborg/keystone-password',
    ],
    [
      'the secret has no such key',
      'secret of the password',
      {},
      { passwordField: 'password' },
      'has no text in the key password',
      `put-secret-value --secret-id cyborg/keystone-password --secret-string '{"password":"..."}'`,
    ],
    [
      'Keystone refuses the password',
      'Keystone accepts the password',
      { secret: 'of last year' },
      {},
      'refuses cyborg with the secret',
      'aws secretsmanager put-secret-value',
    ],
    [
      'a certificate is in another region',
      'region',
      {},
      { ...domain, certificateArn: certificateArn.replace('eu-west-1', 'us-east-1') },
      'certificateArn is in us-east-1, and the stack would be in eu-west-1.',
      'export AWS_REGION=us-east-1',
    ],
    [
      'the region has no CDK resources',
      'CDK resources',
      { stacks: {} },
      {},
      'Account 123456789012 has no CDK resources in eu-west-1.',
      'npx cdk bootstrap aws://123456789012/eu-west-1',
    ],
    [
      'the first deployment has failed',
      'the stack',
      { stacks: { CDKToolkit: 'CREATE_COMPLETE', 'cyborg-pre': 'ROLLBACK_COMPLETE' } },
      {},
      'cyborg-pre is ROLLBACK_COMPLETE',
      'npx cdk destroy --force -c stage=pre',
    ],
    [
      'names are taken by kept tables',
      'names of tables',
      { tables: ['pre-arqs', 'pre-inventory'] },
      {},
      'exist without a stack: pre-arqs, pre-inventory',
      'npx cdk deploy --import-existing-resources -c stage=pre',
    ],
    [
      'the protection of tables was switched off',
      'protection of tables',
      {
        stacks: { CDKToolkit: 'CREATE_COMPLETE', 'cyborg-pre': 'UPDATE_COMPLETE' },
        tables: ['pre-arqs', 'pre-inventory'],
        unprotected: ['pre-arqs'],
      },
      {},
      'switched off: pre-arqs. Only a deployment that changes functions switches it on again.',
      'for t in pre-arqs; do aws dynamodb update-table --table-name $t --deletion-protection-enabled; done',
    ],
    [
      'an alias was moved by hand',
      'versions that get requests',
      {
        stacks: { CDKToolkit: 'CREATE_COMPLETE', 'cyborg-pre': 'UPDATE_COMPLETE' },
        aliases: { 'pre-changes': ['50'] },
      },
      {},
      'pre-changes was changed by hand: version 50 gets the requests, and the stack has put 51 in place.',
      'aws lambda update-alias --function-name pre-changes --name live --function-version 51',
    ],
    [
      'a release has not ended',
      'versions that get requests',
      {
        stacks: { CDKToolkit: 'CREATE_COMPLETE', 'cyborg-pre': 'UPDATE_COMPLETE' },
        aliases: { 'pre-device-profiles': ['50', { '51': 0.1 }] },
      },
      {},
      'A release of pre-device-profiles has not ended: version 51 gets 10 % of the requests, and 50 the others.',
      'aws lambda update-alias --function-name pre-device-profiles --name live --function-version 50 --routing-config AdditionalVersionWeights={}',
    ],
    [
      'names are taken, and nothing is to be kept',
      'names of tables',
      { tables: ['pre-arqs'] },
      { keepData: 'false' },
      'exist without a stack: pre-arqs',
      'aws dynamodb delete-table --table-name',
    ],
    [
      'the quota is that of a new account',
      'concurrent executions of Lambda',
      { executions: 10 },
      {},
      'The account has 10 concurrent executions in eu-west-1, and the stack needs 102: 82 for the consumers of its queues, 20 for its other functions.',
      'aws service-quotas request-service-quota-increase --region eu-west-1 --service-code lambda',
    ],
    [
      'the quota is too small for the reservations',
      'concurrent executions of Lambda',
      { executions: 300 },
      { reservedConcurrency: '{"accelerator-requests":300}' },
      'The account has 300 concurrent executions in eu-west-1, and the stack needs 400: 300 reserved or provisioned, 100 that Lambda keeps for other functions.',
      '--quota-code L-B99A9384 --desired-value 1000',
    ],
    [
      'the quota is too small for what is provisioned',
      'concurrent executions of Lambda',
      { executions: 1000 },
      {
        concurrencyQuota: '3000',
        reservedConcurrency: '{"accelerator-requests":500}',
        provisionedConcurrency: '{"accelerator-requests":100,"device-profiles":900}',
      },
      'The account has 1000 concurrent executions in eu-west-1, and the stack needs 1500: 1400 reserved or provisioned, 100 that Lambda keeps for other functions.',
      '--quota-code L-B99A9384 --desired-value 1500',
    ],
    [
      'the account takes fewer requests than a route',
      'requests to API Gateway',
      { requests: 2500 },
      { novaRequestsPerSecond: '4000' },
      "The account has 2500 requests a second in eu-west-1, and novaRequestsPerSecond gives 4000 to each of Nova's calls.",
      'aws service-quotas request-service-quota-increase --region eu-west-1 --service-code apigateway --quota-code L-8A5B8E43 --desired-value 20000',
    ],
    [
      'the certificate has expired',
      'certificate of the domain name',
      { certificate: { ...issued, NotAfter: now - day, Status: 'EXPIRED' } },
      domain,
      'The certificate has expired on ',
      'aws acm request-certificate --region eu-west-1 --domain-name api.example.org',
    ],
    [
      'the certificate is for another name',
      'certificate of the domain name',
      {},
      { ...domain, domainName: 'a.b.example.org' },
      'The certificate is for api.example.org, not a.b.example.org.',
      'aws acm request-certificate',
    ],
    [
      'the certificate is not validated yet',
      'certificate of the domain name',
      { certificate: { DomainName: '*.example.org', Status: 'PENDING_VALIDATION' } },
      domain,
      'The certificate is PENDING_VALIDATION.',
      'aws acm wait certificate-validated',
    ],
    [
      'a call is not allowed',
      'concurrent executions of Lambda',
      { refused: ['lambda'] },
      {},
      'lambda answers AccessDeniedException: not allowed',
      'Check the permission lambda:GetAccountSettings.',
    ],
  ];

  const names = async (...[, check, changes, settings, said, command]: Case) => {
    Object.assign(account, changes);
    const told = await preflight(settings);
    const [line, remedy] = fault(told, check);
    expect(line).toContain(said);
    expect(remedy).toContain(command);
    expect(told.code).toBe(1);
    expect(told.output).not.toMatch(/\n {4}at /);
    expect(told.output).not.toContain(password);
  };
  const { sample, rest } = tenthOf(cases);

  it.each(sample)('%s (a sample, a fixed tenth)', names);

  it.each(rest)('%s', { tags: ['long'] }, names);
});

it('does not mind tables of a stack that exists', async () => {
  account.stacks['cyborg-pre'] = 'UPDATE_COMPLETE';
  account.tables = ['pre-arqs'];
  expect((await preflight()).output).toContain('ok     names of tables: they belong to the stack');
});

it('accepts the smallest quota of requests, and says how many servers it lets start', async () => {
  account.requests = 2500;
  expect((await preflight()).output).toContain(
    'ok     requests to API Gateway: 2500 a second, for 500 servers a second of 5 calls each',
  );
});

it('tells a region without AWS from a fault of the settings', async () => {
  const told = await preflight({}, { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' });
  expect(fault(told, 'region')[1]).toContain('export AWS_REGION=<region with AWS IoT Core>');
  expect(told.output).not.toMatch(/\n {4}at /);
});

it('is silent about a Keystone that cannot be reached from here', async () => {
  const told = await preflight({ keystoneUrl: 'http://127.0.0.1:1/v3' });
  expect(told.output).toContain('--   Keystone accepts the password: it does not answer here: ');
});

it('names settings that are wrong, and a region that is not set', async () => {
  const wrong = await preflight({ keepdata: 'false' });
  expect(wrong.output).toContain('keepdata: unknown setting; did you mean keepData?');
  expect(wrong.code).toBe(1);
  const nowhere = await preflight({}, { AWS_REGION: undefined });
  expect([nowhere.code, nowhere.output.trim()]).toEqual([
    2,
    'AWS_REGION is not set: set it to the region of the stack.',
  ]);
});
