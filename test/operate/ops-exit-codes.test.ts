// Each call of cyborg-ops ends with the documented exit code and one sentence.

import { describe, expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Call, callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);

const call = (words: readonly string[], given?: Call) => callOps(cloud, words, given);

describe('the exit code', () => {
  const fault = (status: number, sentence: string) => ({
    status,
    body: { error: sentence, error_message: JSON.stringify({ faultstring: sentence }) },
  });

  it.each([
    [400, 1],
    [404, 1],
    [409, 1],
    [422, 1],
    [403, 3],
  ])('of an answer %i is %i, with the sentence of the API', async (status, exitCode) => {
    cloud.answer(fault(status, 'Host cmp9 not found.'));
    const told = await call(['hosts', 'forget', 'cmp9']);
    expect(told).toEqual({ exitCode, out: '', err: 'Host cmp9 not found.' });
  });

  it('is 3 where the service refuses the token', async () => {
    cloud.answer(fault(401, 'The token has expired.'));
    expect(await call(['hosts'])).toMatchObject({
      exitCode: 3,
      err: /token: The token has expired/,
    });
  });

  it.each([500, 503, 429])('is 4 where the service answers %i', async (status) => {
    cloud.answer(fault(status, 'Keystone cannot be asked right now.'));
    expect(await call(['hosts'])).toMatchObject({ exitCode: 4, err: /unavailable: it answered/ });
  });

  it('is 4 where an answer is not understood, and says what is wrong with it', async () => {
    cloud.answer({ status: 200, body: { hosts: [{ state: 'away' }] } });
    const told = await call(['hosts']);
    expect(told).toMatchObject({ exitCode: 4, err: /not understood.*hostname/ });
    expect(told.err).not.toContain('\n');
  });

  it('is 1 where the service has no such path', async () => {
    cloud.answer({ status: 404, body: { message: 'Not Found' } });
    expect(await call(['hosts'])).toMatchObject({ exitCode: 1, err: /may be older/ });
  });

  it('is 4 where no service listens', async () => {
    cloud.answer({ status: 200 });
    expect(await call(['hosts', '--endpoint', 'http://127.0.0.1:1'])).toMatchObject({
      exitCode: 4,
      err: 'accelerator at http://127.0.0.1:1/operator/v1/hosts?limit=1000 is unavailable: ECONNREFUSED',
    });
    expect(await call(['hosts', '--os-auth-url', 'http://127.0.0.1:1'])).toMatchObject({
      exitCode: 4,
    });
    expect(cloud.asked).toEqual([]);
  });

  it('is 4 where the catalog lacks the endpoint, and says what it has', async () => {
    const told = await call(['hosts', '--os-region-name', 'Two']);
    expect(told).toMatchObject({ exitCode: 4, err: /in region Two \(it has public in One\)/ });
  });

  it('is 3 where Keystone refuses, and no text has the password', async () => {
    const told = await call(['hosts'], { environment: { OS_PASSWORD: 'wrong-s3cret' } });
    expect(told).toMatchObject({ exitCode: 3, err: /refuses the sign-in \(401\)/ });
    expect(JSON.stringify(told)).not.toContain('s3cret');
  });

  it('is 3 without credentials, and 2 with wrong words', async () => {
    expect(await call(['hosts'], { environment: { OS_AUTH_URL: '' } })).toMatchObject({
      exitCode: 3,
      err: /There are no credentials/,
    });
    expect(await call(['hosts', 'lst'])).toMatchObject({ exitCode: 2, out: '' });
    expect(await call(['hosts', '--os-cacert', '/nowhere.pem'])).toMatchObject({
      exitCode: 2,
      err: 'OS_CACERT names /nowhere.pem, which does not exist.',
    });
    const key = '-----BEGIN PRIVATE KEY-----';
    expect(
      await call(['hosts', '--os-cacert', '/key.pem'], { files: { '/key.pem': key } }),
    ).toEqual({
      exitCode: 2,
      out: '',
      err: 'OS_CACERT names /key.pem, which has no certificate in PEM.',
    });
  });

  it('is 0 for help, version and completion, which ask nothing', async () => {
    cloud.answer({ status: 500 });
    for (const words of [['--help'], ['hosts', '--help'], ['--version'], ['completion', 'zsh']]) {
      expect(await call(words, { environment: { OS_AUTH_URL: '' } })).toMatchObject({
        exitCode: 0,
        err: '',
      });
    }
    expect(cloud.asked).toEqual([]);
  });
});

it('an error of a host is shown without its escape sequences', async () => {
  cloud.answer({ status: 409, body: { error: 'card \u001b]0;owned\u0007 moved\nto cmp2' } });
  expect((await call(['hosts', 'resume', 'cmp1'])).err).toBe('card ]0;owned moved to cmp2');
});

it('signs in with the scope of the options', async () => {
  cloud.answer({ status: 200, body: { hosts: [] } });
  expect((await call(['hosts', '--os-project-name', 'demo'])).out).toBe('None.');
  expect(cloud.logins).toMatchObject([
    { auth: { scope: { project: { name: 'demo', domain: { id: 'default' } } } } },
  ]);
});
