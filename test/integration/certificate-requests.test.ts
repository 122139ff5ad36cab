// What the control plane refuses of hosts that ask for a certificate, with the fake AWS IoT.

import { generateKeyPairSync, randomUUID, X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { certificateRequest } from '#core/contracts/identity/certificate-request.ts';
import type { CertificateAnswer, CertificateMessage } from '#core/contracts/identity/renewal.ts';
import type { Deps } from '#core/deps.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { silentLog } from '#core/log.ts';
import { renewCertificate } from '#core/operations/hosts/renew-certificate.ts';
import { revokeCertificates } from '#operate/enrol/end-certificates.ts';
import { startIotCore } from '#test/support/aws/iot-core.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const iot = perFile(() => startIotCore('test'));
const world = perFile(() => startWorld({ consumers: false }));
const registry = () => createRegistry(iot.client(), 'test');

function newRequest(thing: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return certificateRequest(thing, privateKey);
}

/** A host with this many active certificates, the newest first. */
async function aHost(certificates: number) {
  const hostname = `cmp-${randomUUID()}`;
  const thing = `test:${hostname}`;
  await registry().ensureThing(thing);
  for (let count = 0; count < certificates; count += 1) {
    const certificate = await registry().issue(newRequest(thing));
    await registry().attach(certificate, thing);
    await registry().activate(certificate);
  }
  const ids = async () => (await registry().certificatesOf(thing)).map(({ id }) => id);
  return { hostname, thing, ids };
}

const active = (thing: string) =>
  iot.registry.certificatesOf(thing).filter(({ status }) => status === 'ACTIVE');

async function send(
  hostname: string,
  message: CertificateMessage,
  { connected = 'none', attempt = 1 } = {},
): Promise<CertificateAnswer | undefined> {
  const host = async () => ({ host: { presence: { certificate: connected } } });
  const inventory = { ...world.deps.store.inventory, host };
  const deps = { ...world.deps, store: { ...world.deps.store, inventory }, log: silentLog };
  let answer: CertificateAnswer | undefined;
  const answers = {
    send: async (to: string, sent: CertificateAnswer) => {
      if (to === hostname) answer = sent;
    },
  };
  const renewal = { registry: registry(), answers };
  for (;;) {
    try {
      await renewCertificate(deps as unknown as Deps, renewal, hostname, message, attempt);
      return answer;
    } catch (error) {
      // As the queue delivers the message again.
      const isBehind = error instanceof RetryLater && error.message.startsWith('Another message');
      if (!isBehind) throw error;
      await sleep(5);
    }
  }
}

describe('a request', () => {
  it('gets one certificate for one key, as often as it is sent', async () => {
    const { hostname, thing, ids } = await aHost(1);
    const csr = newRequest(thing);
    const first = await send(hostname, { csr });
    expect(first).toEqual(await send(hostname, { csr }));
    const [newest, ...older] = await registry().certificatesOf(thing);
    expect(first).toEqual({ certificate: newest?.pem });
    expect(newest).toMatchObject({ status: 'ACTIVE' });
    expect(older).toHaveLength(1);
    expect(iot.registry.certificate((await ids())[0] ?? '')).toMatchObject({
      thing,
      policy: 'test-compute-node',
    });
    expect(new X509Certificate(newest?.pem ?? '').subject).toBe(`CN=${thing}`);
  });

  it.each([
    ['of another host', 1, 'test:cmp2', 'it is of test:cmp2, not of test:cmp-'],
    ['of a host without an active certificate', 0, undefined, 'has no active certificate'],
    ['of a host with three of them', 3, undefined, 'has 3 active certificates already'],
  ])('%s is refused, and nothing is issued', async (_what, count, subject, reason) => {
    const { hostname, thing, ids } = await aHost(count);
    const before = await ids();
    const answer = await send(hostname, { csr: newRequest(subject ?? thing) });
    expect(answer).toEqual({ refused: expect.stringContaining(reason) });
    expect(await ids()).toEqual(before);
  });

  it('of a revoked host is refused, although it was sent before', async () => {
    const { hostname, thing } = await aHost(1);
    const csr = newRequest(thing);
    await send(hostname, { csr });
    await revokeCertificates(registry(), thing);
    expect(await send(hostname, { csr })).toEqual({ refused: 'the host is revoked' });
    expect(active(thing)).toEqual([]);
  });

  it.each([0, 1, 2, 5, 10, 20])(
    'beside the revocation of its host leaves no active certificate, revoked %i ms later',
    async (afterMs) => {
      const { hostname, thing } = await aHost(1);
      const requests = [1, 2].map(() => send(hostname, { csr: newRequest(thing) }));
      await sleep(afterMs);
      await revokeCertificates(registry(), thing);
      await Promise.all(requests);
      expect(active(thing)).toEqual([]);
    },
  );

  it('that died after its certificate was activated is revoked with its host', async () => {
    const { hostname, thing } = await aHost(1);
    await revokeCertificates(registry(), thing);
    const csr = newRequest(thing);
    const late = await registry().issue(csr);
    await registry().attach(late, thing);
    await registry().activate(late);
    expect(await send(hostname, { csr })).toEqual({ refused: 'the host is revoked' });
    expect(active(thing)).toEqual([]);
  });

  it('is one of three that keep their certificate, of fourteen at once', async () => {
    const { hostname, thing } = await aHost(1);
    const requests = Array.from({ length: 14 }, () => send(hostname, { csr: newRequest(thing) }));
    await Promise.all(requests);
    expect(active(thing)).toHaveLength(3);
  });

  it('is answered again once the host is enrolled again', async () => {
    const { hostname, thing } = await aHost(1);
    await revokeCertificates(registry(), thing);
    await registry().setRevoked(thing, false);
    const next = await registry().issue(newRequest(thing));
    await registry().attach(next, thing);
    await registry().activate(next);
    expect(await send(hostname, { csr: newRequest(thing) })).toEqual({
      certificate: expect.stringContaining('BEGIN CERTIFICATE'),
    });
  });
});

describe('old certificates', () => {
  it('are removed once the host is connected with the newest', async () => {
    const { hostname, ids } = await aHost(3);
    const [newest = ''] = await ids();
    await send(hostname, { in_use: newest }, { connected: newest });
    expect(await ids()).toEqual([newest]);
  });

  it('stay while the host is connected with another one, and are asked for again', async () => {
    const { hostname, ids } = await aHost(2);
    const all = await ids();
    const [newest = '', old = ''] = all;
    const announce = (attempt: number) =>
      send(hostname, { in_use: newest }, { connected: old, attempt });
    await expect(announce(1)).rejects.toThrow(RetryLater);
    await announce(6);
    expect(await ids()).toEqual(all);
  });

  it('stay while a newer one waits for its host', async () => {
    const { hostname, ids } = await aHost(2);
    const all = await ids();
    const old = all[1] ?? '';
    await send(hostname, { in_use: old }, { connected: old });
    expect(await ids()).toEqual(all);
  });
});
