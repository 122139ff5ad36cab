// The doctor compares the versions of the password's secret with Keystone.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { IoTClient } from '@aws-sdk/client-iot';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, expect, it } from 'vitest';
import { createHttp } from '#core/clients/http.ts';
import { type Finding, perform } from '#core/command-line/checks.ts';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { password } from '#local/openstack/keystone/catalog.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { environmentFor } from '#local/process/environment.ts';
import type { CheckContext } from '#operate/doctor/check.ts';
import { openstackChecks } from '#operate/doctor/openstack.ts';
import { serveSecret } from '#test/support/http-server.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const secretId = 'cyborg/keystone-password';
/** The versions of the secret by their stages, as in Secrets Manager. */
let secret: Readonly<Record<string, string>> = {};
const config = { region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };
/** The check uses their credentials only. */
const aws: CheckContext['aws'] = {
  dynamoDb: new DynamoDBClient(config),
  sqs: new SQSClient(config),
  iot: new IoTClient(config),
  s3: new S3Client(config),
};
const keystone = perFile(() => startKeystone({ host: '127.0.0.1', port: 0 }));
const secrets = perFile(() => serveSecret((stage) => secret[stage]));

beforeEach(() => {
  secret = {};
});

/** @param settings of the functions in addition to those with the secret */
async function compare(settings: Readonly<Record<string, string>> = {}): Promise<Finding> {
  const unused = 'http://127.0.0.1:1';
  const environment = environmentFor('doctor', {
    dynamoDb: unused,
    sqs: unused,
    keystone: keystone.url,
  });
  process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = secrets.url;
  const deps = createConsumerDeps('doctor', {
    ...process.env,
    ...environment,
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    CYBORG_OS_PASSWORD: '',
    CYBORG_OS_PASSWORD_SECRET: secretId,
    ...settings,
  });
  const check = openstackChecks.find(({ name }) => name.startsWith('the secret has'));
  if (!check) throw new Error('The doctor has no check of the secret.');
  return perform(check, { deps, http: createHttp(), aws, url: undefined });
}

it('is content if Keystone accepts the current version', async () => {
  secret = { AWSCURRENT: password };
  expect(await compare()).toMatchObject({ ok: secretId });
});

it('finds a current version that Keystone refuses', async () => {
  secret = { AWSCURRENT: 'of last year' };
  expect(await compare()).toMatchObject({
    wrong: `Keystone refuses the current version of ${secretId}.`,
    remedy: 'Put the password of Keystone into the secret.',
  });
});

it('finds a rotation that was not ended', async () => {
  secret = { AWSCURRENT: 'of last year', AWSPENDING: password };
  expect(await compare()).toMatchObject({
    wrong: `Keystone refuses the current version of ${secretId}, and accepts the pending one.`,
    remedy: expect.stringContaining('End the rotation: move AWSCURRENT to the pending version'),
  });
});

it('does not mind a rotation whose next password Keystone does not have yet', async () => {
  secret = { AWSCURRENT: password, AWSPENDING: 'of next year' };
  expect(await compare()).toMatchObject({ ok: secretId });
});

it('compares the field of a secret that is a JSON object', async () => {
  const CYBORG_OS_PASSWORD_FIELD = 'password';
  secret = { AWSCURRENT: JSON.stringify({ password }) };
  expect(await compare({ CYBORG_OS_PASSWORD_FIELD })).toMatchObject({ ok: secretId });
  secret = { AWSCURRENT: JSON.stringify({ password: 'of last year' }) };
  expect(await compare({ CYBORG_OS_PASSWORD_FIELD })).toMatchObject({
    wrong: expect.stringContaining('Keystone refuses the current version'),
  });
});

it('names the permission if the secret cannot be read', async () => {
  expect(await compare()).toMatchObject({
    wrong: expect.stringMatching(/ResourceNotFoundException|no current version/),
    remedy: expect.stringContaining('secretsmanager:GetSecretValue'),
  });
});

it('does not take a Keystone that cannot be asked for one that refuses', async () => {
  secret = { AWSCURRENT: password };
  const finding = await compare({ KEYSTONE_URL: 'http://127.0.0.1:1/v3' });
  expect(finding).toMatchObject({ wrong: expect.stringContaining('ServiceUnavailable') });
  expect(finding).not.toMatchObject({ wrong: expect.stringContaining('refuses') });
});
