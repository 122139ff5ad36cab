// A key that is made on the host: the agent's command, the operator's command with the request,
// and the agent's connection, as processes.
//
// @module-tag long

import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateRequest } from '#core/contracts/identity/certificate-request.ts';
import { name, sequence, tagged, toPem } from '#core/contracts/identity/der.ts';
import { readRequest } from '#core/contracts/identity/read-request.ts';
import { run } from '#test/agent/agent-process.ts';
import { type IotCore, startIotCore } from '#test/support/aws/iot-core.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

const stage = 'test';
let iot: IotCore;

beforeAll(async () => {
  iot = await startIotCore(stage);
});
afterAll(() => iot.stop());

function emptyFolder(): string {
  return mkdtempSync(join(iot.directory, 'host-'));
}

async function ended(program: string, environment: Record<string, string>, args: string[]) {
  const process = run(program, environment, args);
  return { code: await process.exited(), output: process.output() };
}

function makeKey(host: string, folder: string) {
  const args = ['key', '--stage', stage, '--host', host, '--folder', folder];
  return ended('edge-agent/main.ts', {}, args);
}

/** The folder is on the host at `at`. */
function enrol(host: string, csr: string, out: string, at: string, verb = 'add') {
  const settings = join(iot.directory, 'settings.json');
  const state = join(at, 'state');
  writeFileSync(settings, JSON.stringify({ drivers: ['fake'], state_dir: state }));
  const environment = {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_IOT: iot.url,
  };
  return ended('operate/cyborg-ops.ts', environment, [
    ...['enrol', verb, host, '--stage', stage, '--csr', csr, '--out', out, '--at', at],
    ...['--settings', settings, '--port', String(iot.broker.port)],
    ...['--ca', iot.certificates.server.authorityFile],
  ]);
}

const keyOf = (folder: string) => readFileSync(join(folder, 'key.pem'), 'utf8');

it('connects a host whose key never left it', async () => {
  const [host, out] = [emptyFolder(), emptyFolder()];
  const made = await makeKey('own.example', host);
  expect(made).toMatchObject({ code: 0 });
  const digest = /public key: ([0-9a-f]{64})/.exec(made.output)?.[0] ?? 'none';
  expect(statSync(join(host, 'key.pem')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(host, 'request.pem'), 'utf8')).not.toContain('PRIVATE');

  const signed = await enrol('own.example', join(host, 'request.pem'), out, host);
  expect(signed).toMatchObject({ code: 0 });
  expect(signed.output).toContain(digest);
  const names = ['agent.json', 'authorities.pem', 'certificate.pem'];
  expect(readdirSync(out).sort()).toEqual(names);
  for (const each of names) writeFileSync(join(host, each), readFileSync(join(out, each)));

  const agent = run('edge-agent/main.ts', { CYBORG_AGENT_CONFIG: join(host, 'agent.json') });
  await eventually(() => agent.output()).toContain('Inventory reported');
  await agent.stop();

  // Both commands may be repeated.
  const key = keyOf(host);
  expect(await makeKey('own.example', host)).toEqual(made);
  expect(keyOf(host)).toBe(key);
  expect(await enrol('own.example', join(host, 'request.pem'), out, host)).toEqual(signed);
  expect(iot.registry.certificatesOf('test:own:example')).toHaveLength(1);
});

it('adds a second certificate for a second key of the host', async () => {
  const [host, next, out] = [emptyFolder(), emptyFolder(), emptyFolder()];
  await makeKey('twice.example', host);
  await makeKey('twice.example', next);
  await enrol('twice.example', join(host, 'request.pem'), out, host);
  const request = join(next, 'request.pem');
  const refused = await enrol('twice.example', request, emptyFolder(), host);
  expect(refused.output).toContain('rotate adds a second one');
  expect(await enrol('twice.example', request, emptyFolder(), host, 'rotate')).toMatchObject({
    code: 0,
  });
  expect(iot.registry.certificatesOf('test:twice:example')).toHaveLength(2);
});

describe('a request is refused, and nothing is created,', () => {
  const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const thing = 'test:bad:example';
  const request = certificateRequest(thing, ec());
  /** Its signature has another value. */
  const forged = () => {
    const der = Buffer.from(request.replaceAll(/-----.*-----/g, ''), 'base64');
    der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
    return toPem('CERTIFICATE REQUEST', der);
  };

  it.each([
    ['of another host', certificateRequest('test:good:example', ec()), 'is of test:good:example'],
    ['of another stage', certificateRequest('prod:bad:example', ec()), 'not of test:bad:example'],
    ['that is a key', 'not a request', 'request is refused: it has no BEGIN'],
    ['that is cut off', toPem('CERTIFICATE REQUEST', Buffer.of(0x30, 0x20)), 'it is damaged'],
    ['with a wrong signature', forged(), 'does not match its key'],
    ['with a weak key', requestOf(name(thing), rsa), 'RSA of 2048 bits or more'],
  ])('%s', async (_what, text, expected) => {
    const [file, out] = [join(emptyFolder(), 'request.pem'), join(emptyFolder(), 'out')];
    writeFileSync(file, text);
    const { code, output } = await enrol('bad.example', file, out, '/etc/cyborg-agent');
    expect(output).toContain(expected);
    expect(code).toBe(1);
    expect(existsSync(out)).toBe(false);
    expect(iot.registry.findThing(thing)).toBeUndefined();
  });

  it('with a folder that has a key', async () => {
    const folder = emptyFolder();
    await makeKey('bad.example', folder);
    const before = readdirSync(folder);
    const refused = await enrol('bad.example', join(folder, 'request.pem'), folder, folder);
    expect(refused.output).toContain('The folder holds a key, but with --csr the key is on');
    expect(refused.code).toBe(1);
    expect(readdirSync(folder)).toEqual(before);
    expect(iot.registry.findThing(thing)).toBeUndefined();
  });
});

it('keeps a key of another form, or one that others can read, and says so', async () => {
  const folder = emptyFolder();
  const file = join(folder, 'key.pem');
  writeFileSync(file, 'an RSA key', { mode: 0o600 });
  expect(await makeKey('cmp1', folder)).toMatchObject({ code: 1 });
  expect(readFileSync(file, 'utf8')).toBe('an RSA key');
  const other = emptyFolder();
  await makeKey('cmp1', other);
  chmodSync(join(other, 'key.pem'), 0o644);
  const refused = await makeKey('cmp1', other);
  expect(refused.output).toContain('must be readable by its owner only: mode 0600.');
  expect(refused.code).toBe(1);
});

it.each([
  [['key'], 'key needs --stage'],
  [['key', '--stage', 'Prod'], 'key needs --stage: at most 15 lower case letters'],
  [['key', '--stage', 'prod', '--host', 'a_b'], '--host: "a_b" is not a valid name'],
  [['key', '--stage'], 'each once and with a value; "--stage" is not.'],
  [['key', '--out', 'x'], 'key takes --stage, --host, --folder'],
])('wrong arguments end with 2: %j', async (args, expected) => {
  const { code, output } = await ended('edge-agent/main.ts', {}, args);
  expect(output).toContain(expected);
  expect(code).toBe(2);
});

it('reads no more than one common name', () => {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const [one, two] = ['test:a', 'test:b'].map((each) => name(each).subarray(2));
  const subject = sequence(one ?? Buffer.of(), two ?? Buffer.of());
  expect(readRequest(certificateRequest('test:a', key)).commonName).toBe('test:a');
  expect(() => readRequest(requestOf(subject, key))).toThrow('must be one common name');
});

function requestOf(subject: Buffer, key: KeyObject): string {
  const info = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const contents = sequence(tagged(0x02, Buffer.of(0)), subject, info, tagged(0xa0));
  const signature = tagged(0x03, Buffer.of(0), sign('sha256', contents, key));
  return toPem('CERTIFICATE REQUEST', sequence(contents, sequence(), signature));
}
