// `npm run preflight` names what would make a deployment fail, and the command that mends it.

import { describe, expect, it } from 'vitest';
import { serveHttp } from '#test/support/http-server.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';
import {
  account,
  type Case,
  certificateArn,
  dataKeyArn,
  day,
  fault,
  issued,
  namesFault,
  now,
  preflight,
  serveAccount,
} from './preflight-account.ts';

serveAccount();

const domain = { domainName: 'api.example.org', certificateArn };

it('finds nothing wrong in an account that is ready', async () => {
  const told = await preflight({ ...domain, dataKeyArn });
  expect(told.output).toContain('13 ok, 0 wrong, 0 undetermined');
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
      'the key of the data is in another region',
      'region',
      {},
      { dataKeyArn: dataKeyArn.replace('eu-west-1', 'us-east-1') },
      'dataKeyArn is in us-east-1, and the stack would be in eu-west-1.',
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
        provisionedConcurrency:
          '{"accelerator-requests":100,"device-profiles":{"min":1,"max":900,"utilization":70}}',
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

  const { sample, rest } = sampleOf(cases, 3);

  it.each(sample)('%s (a sample of three)', namesFault);

  it.each(rest)('%s', { tags: ['long'] }, namesFault);
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

it('names the regions between which the settings must choose', async () => {
  const endpoints = ['RegionTwo', 'RegionOne'].map((region) => {
    return { interface: 'internal', region, region_id: region, url: 'http://glance.test' };
  });
  const token = {
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    catalog: [{ type: 'image', endpoints }],
  };
  const { url, stop } = await serveHttp((_request, response) => {
    response.writeHead(201, { 'Content-Type': 'application/json', 'X-Subject-Token': 'own' });
    response.end(JSON.stringify({ token }));
  });
  const several = await preflight({ keystoneUrl: url });
  const one = await preflight({ keystoneUrl: url, regionName: 'RegionTwo' });
  stop();
  expect(fault(several, 'Keystone accepts the password')).toEqual([
    expect.stringContaining('The catalog has image in several regions: RegionOne, RegionTwo.'),
    expect.stringContaining('Set regionName to one of RegionOne, RegionTwo.'),
  ]);
  expect(one.output).toMatch(/ok +Keystone accepts the password/);
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
