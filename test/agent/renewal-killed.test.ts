// The agent or the control plane dies at each step of a renewal. After the next start the host is
// connected with a new certificate, and it is the only one.

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IoTDataPlaneClient } from '@aws-sdk/client-iot-data-plane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession, type Session } from '#agent/broker/mqtt.ts';
import { systemClock } from '#agent/clock.ts';
import { createRenewal } from '#agent/identity/renewal.ts';
import { openStoredIdentity } from '#agent/identity/stored-identity.ts';
import { openStateFiles, type StateFiles } from '#agent/state/state-files.ts';
import { createCertificateAnswers } from '#core/clients/aws/certificate-answers.ts';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { certificateMessage } from '#core/contracts/identity/renewal.ts';
import { thingName } from '#core/contracts/topics.ts';
import type { Deps } from '#core/deps.ts';
import { silentLog } from '#core/log.ts';
import { renewCertificate } from '#core/operations/hosts/renew-certificate.ts';
import { enrolHost } from '#operate/enrol/enrol-host.ts';
import { openHostFolder } from '#operate/enrol/host-folder.ts';
import { type IotCore, startIotCore } from '#test/support/aws/iot-core.ts';
import { aLog } from '#test/support/hosts/agent.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

let iot: IotCore;
let answers: IoTDataPlaneClient;
/** The control plane dies at this request to AWS, and then works. */
let cloudDiesAt = 0;
let cloudSteps = 0;

beforeAll(async () => {
  iot = await startIotCore('test', async (topic, payload) => {
    const hostname = /hosts\/test:([^/]+)\/certificate-request$/.exec(topic)?.[1];
    if (hostname) void consume(hostname, payload);
  });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  answers = new IoTDataPlaneClient({ endpoint: iot.url, region: 'us-east-1', credentials });
});
afterAll(async () => {
  answers.destroy();
  await iot.stop();
});

/** The control plane: a message is delivered until it is done, as from a queue. */
async function consume(hostname: string, payload: Buffer): Promise<void> {
  const message = certificateMessage.parse(JSON.parse(payload.toString()));
  for (let attempt = 1; attempt < 100; attempt += 1) {
    const isDone = await renewCertificate(
      depsOf(hostname),
      cloud(),
      hostname,
      message,
      attempt,
    ).then(
      () => true,
      () => false,
    );
    if (isDone) return;
    await systemClock.sleep(20);
  }
}

function cloud() {
  const client = iot.client();
  client.middlewareStack.add(
    (next) => async (args) => {
      cloudSteps += 1;
      if (cloudSteps === cloudDiesAt) throw new Error('killed before');
      const answer = await next(args);
      cloudSteps += 1;
      if (cloudSteps === cloudDiesAt) throw new Error('killed after');
      return answer;
    },
    { step: 'initialize', name: 'die' },
  );
  return {
    registry: createRegistry(client, 'test'),
    answers: createCertificateAnswers('test', answers),
  };
}

function depsOf(hostname: string): Deps {
  const host = async () => ({
    host: { presence: { certificate: connectedWith(hostname).at(-1) } },
  });
  const inventory = { host, takeLease: async () => true, endLease: async () => {} };
  const deps = {
    settings: { stage: 'test' },
    store: { inventory },
    log: silentLog,
    clock: Date.now,
    uuid: crypto.randomUUID.bind(crypto),
  };
  return deps as unknown as Deps;
}

function connectedWith(hostname: string): (string | undefined)[] {
  return iot.presence
    .filter((event) => event.clientId === thingName('test', hostname))
    .filter(({ eventType }) => eventType === 'connected')
    .map(({ principalIdentifier }) => principalIdentifier);
}

async function enrol(hostname: string, isRotation = false) {
  const folder = mkdtempSync(join(iot.directory, 'host-'));
  const { id } = await enrolHost({
    registry: createRegistry(iot.client(), 'test'),
    stage: 'test',
    hostname,
    folder: openHostFolder(folder),
    authorities: '',
    isRotation,
  });
  return { id, folder };
}

interface Killer {
  /** Throws at one step, and at each one after it. */
  step(): void;
  readonly steps: () => number;
}

function killerAt(at: number): Killer {
  let count = 0;
  return {
    steps: () => count,
    step: () => {
      count += 1;
      if (at > 0 && count >= at) throw new Error('killed');
    },
  };
}

/** Steps of the agent: before and after each write of its state and each packet. */
function around<Args extends readonly unknown[], Result>(
  { step }: Killer,
  act: (...args: Args) => Promise<Result>,
) {
  return async (...args: Args): Promise<Result> => {
    step();
    const result = await act(...args);
    step();
    return result;
  };
}

/** The agent's identity and connection, without its devices. */
function startAgent(hostname: string, folder: string, killer = killerAt(0)) {
  const log = aLog();
  const stop = new AbortController();
  const state = openStateFiles(join(folder, 'state'));
  const files: StateFiles = { ...state, replace: around(killer, state.replace) };
  const installed = {
    certificateFile: join(folder, 'certificate.pem'),
    keyFile: join(folder, 'key.pem'),
    authorityFile: iot.certificates.server.authorityFile,
  };
  const thing = thingName('test', hostname);
  const renewal = createRenewal({
    stage: 'test',
    thing,
    intervalSeconds: 0.005,
    rotateAfterDays: 1,
    stored: openStoredIdentity(files, installed, log),
    clock: systemClock,
    random: () => 0,
    log,
  });
  const { host, port } = iot.broker;
  const connect = around(killer, async (identity: { certificate: string; key: string }) => {
    const options = { host, port, thing, ...installed, identity };
    const session = await openSession(options, stop.signal);
    return { ...session, publish: around(killer, session.publish) } satisfies Session;
  });
  const ended = (async () => {
    while (!stop.signal.aborted) {
      await renewal
        .open(connect, stop.signal)
        .then(async (session) => {
          const over = AbortSignal.any([session.lost, stop.signal]);
          if (!over.aborted) await systemClock.sleep(60_000, over);
          await session.end();
        })
        .catch(() => {});
      await systemClock.sleep(20, stop.signal);
    }
  })();
  return {
    log,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}

/** Renewed once: connected with the only certificate, which is not the first one. */
async function expectRenewed(hostname: string, first: string): Promise<void> {
  const active = () => iot.registry.certificatesOf(thingName('test', hostname));
  await eventually(() => active().map(({ id }) => id === first)).toEqual([false]);
  await eventually(() => connectedWith(hostname).at(-1)).toBe(active()[0]?.id);
}

describe('a renewal', () => {
  it('is completed after a death of the agent at any step', async () => {
    for (let at = 1; ; at += 1) {
      const hostname = `dies-${at}`;
      const { id, folder } = await enrol(hostname);
      const killer = killerAt(at);
      const dying = startAgent(hostname, folder, killer);
      const isOver = () => killer.steps() >= at || isAnnounced(folder);
      await eventually(isOver).toBe(true);
      const isDead = killer.steps() >= at;
      await dying.stop();
      const agent = startAgent(hostname, folder);
      await expectRenewed(hostname, id);
      await agent.stop();
      if (isDead) continue;
      // Twice each: two connections, four writes and two packets; the last write is seen early.
      expect(at).toBeGreaterThan(15);
      break;
    }
  });

  it('is completed after a death of the control plane at any step', async () => {
    for (let at = 1; ; at += 1) {
      const hostname = `cloud-${at}`;
      const { id, folder } = await enrol(hostname);
      [cloudSteps, cloudDiesAt] = [0, at];
      const agent = startAgent(hostname, folder);
      await expectRenewed(hostname, id);
      await agent.stop();
      const isDead = cloudSteps >= at;
      cloudDiesAt = 0;
      const orphans = iot.registry
        .certificatesOf(thingName('test', hostname))
        .filter(({ status }) => status !== 'ACTIVE');
      expect(orphans).toEqual([]);
      if (!isDead) break;
    }
    expect(cloudSteps).toBeGreaterThan(20);
  });
});

/** The agent's last write. */
function isAnnounced(folder: string): boolean {
  const file = join(folder, 'state', 'identity.json');
  return existsSync(file) && readFileSync(file, 'utf8').includes('"isAnnounced":true');
}

it('stays with the installed certificate if the control plane refuses', async () => {
  const { id, folder } = await enrol('refused');
  for (const _ of [1, 2, 3]) await enrol('refused', true);
  const agent = startAgent('refused', folder);
  await eventually(() => agent.log.lines.map(({ reason }) => reason)).toContain(
    'the host has 4 active certificates already',
  );
  await agent.stop();
  expect(new Set(connectedWith('refused'))).toEqual(new Set([id]));
});

it('uses the certificate that an operator has installed since', async () => {
  const { id, folder } = await enrol('again');
  const agent = startAgent('again', folder);
  await expectRenewed('again', id);
  await agent.stop();
  const second = await enrol('again', true);
  for (const name of ['key.pem', 'certificate.pem']) {
    writeFileSync(join(folder, name), readFileSync(join(second.folder, name)));
  }
  const before = connectedWith('again').length;
  const restarted = startAgent('again', folder);
  await eventually(() => connectedWith('again')[before]).toBe(second.id);
  await restarted.stop();
});
