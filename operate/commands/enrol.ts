// `cyborg-ops enrol <verb> --stage <stage> ...`: issues, renews and removes the identities of
// compute nodes at AWS IoT. Account, region and credentials come from AWS's own environment
// variables.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { IoTClient } from '@aws-sdk/client-iot';
import {
  createRegistry,
  type Registry,
  RegistryMismatch,
} from '#core/clients/aws/host-registry.ts';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { print } from '#core/command-line/print.ts';
import { keyFingerprint } from '#core/contracts/identity/certificate-request.ts';
import { isHostname, isStage, readHostname, thingName } from '#core/contracts/topics.ts';
import { createStore } from '#core/deps.ts';
import type { Presence } from '#core/domain/host/host.ts';
import { present } from '#core/shapes/derive/present.ts';
import { markRevoked } from '#core/store/hosts/revocations.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import { agentSettings, modulesIn } from '#operate/enrol/agent-settings.ts';
import {
  keepCertificate,
  refuseUnknown,
  retireCertificates,
  revokeCertificates,
} from '#operate/enrol/end-certificates.ts';
import { EnrolmentRefused, enrolHost } from '#operate/enrol/enrol-host.ts';
import { amazonAuthorities, installedAt, openHostFolder } from '#operate/enrol/host-folder.ts';
import { readHostRequest } from '#operate/enrol/host-request.ts';
import { removeHosts } from '#operate/enrol/remove-hosts.ts';

interface Target {
  readonly registry: Registry;
  readonly stage: string;
}

interface HostTarget extends Target {
  readonly thing: string;
  readonly hostname: string;
}

function readTarget(input: Input): Target {
  const stage = input.required('stage');
  if (!isStage(stage)) {
    throw new WrongArguments(
      `--stage ${stage} must be at most 15 lower case letters, digits and hyphens.`,
    );
  }
  return { stage, registry: createRegistry(new IoTClient(), stage) };
}

function readHostTarget(input: Input): HostTarget {
  const target = readTarget(input);
  const hostname = input.argument('host');
  if (!isHostname(hostname)) {
    throw new WrongArguments(`${JSON.stringify(hostname)} is not a valid name of a compute node.`);
  }
  return { ...target, hostname, thing: thingName(target.stage, hostname) };
}

const isRefusal = (error: Error) =>
  error instanceof EnrolmentRefused || error instanceof RegistryMismatch;

function hostCommand(run: (target: HostTarget, input: Input) => Promise<void>): StackCommand {
  return { main: async (input) => run(readHostTarget(input), input), isRefusal };
}

export const enrol = {
  add: hostCommand((target, input) => writeFolder(target, input, false)),
  rotate: hostCommand((target, input) => writeFolder(target, input, true)),
  retire: hostCommand(async ({ registry, stage, thing, hostname }, input) => {
    const keep = input.text('keep');
    const inUse = keep ? undefined : (await readPresence(stage, hostname))?.certificate;
    const ended = keep
      ? keepCertificate(registry, thing, keep)
      : retireCertificates(registry, thing, inUse);
    printChange('removed', await ended);
  }),
  revoke: hostCommand(async ({ registry, stage, thing, hostname }) => {
    const certificates = await revokeCertificates(registry, thing);
    // Its connection lasts for some minutes.
    await mark(stage, hostname, new Date().toISOString());
    printChange('revoked', certificates);
  }),
  remove: {
    async main(input) {
      const [hostname] = input.repeated('host');
      if (input.has('all') && hostname !== undefined) {
        throw new WrongArguments(`--all takes no host, but ${hostname} was given.`);
      }
      if (input.has('all')) {
        const { registry, stage } = readTarget(input);
        return remove(registry, stage, await registry.things());
      }
      if (hostname === undefined) throw new WrongArguments('The host is missing.');
      const { registry, stage, thing } = readHostTarget(input);
      await refuseUnknown(registry, thing);
      await remove(registry, stage, [thing]);
    },
    isRefusal,
  },
  list: { main: async (input) => list(readTarget(input)), isRefusal },
} as const satisfies Readonly<Record<string, StackCommand>>;

async function writeFolder(
  { registry, stage, hostname, thing }: HostTarget,
  input: Input,
  isRotation: boolean,
): Promise<void> {
  const out = input.required('out');
  const [settings, ca, images] = [input.text('settings'), input.text('ca'), input.text('images')];
  const at = input.text('at') ?? installedAt;
  const port = input.text('port') ?? '8883';
  if (!(Number(port) >= 1 && Number(port) <= 65_535)) {
    throw new WrongArguments(`--port ${port} must be a number from 1 to 65535.`);
  }
  const text = settings === undefined ? undefined : readFileSync(settings, 'utf8');
  const csr = input.text('csr');
  const request = csr === undefined ? undefined : readHostRequest(readFileSync(csr, 'utf8'), thing);
  const drivers = input.text('drivers-dir');
  const modules = drivers === undefined ? [] : await modulesIn(drivers);
  const write = (host: string) => {
    const endpoint = `${host}:${port}`;
    return agentSettings({ stage, hostname, endpoint, at, images, modules }, text ?? '{}');
  };
  // Wrong settings are refused before anything is created.
  if (text !== undefined) write('broker.example');
  // Before its registry's mark, by which the next run would know of it.
  if (await registry.isRevoked(thing)) await mark(stage, hostname, undefined);
  const certificate = await enrolHost({
    registry,
    stage,
    hostname,
    folder: openHostFolder(out),
    authorities: ca === undefined ? amazonAuthorities() : readFileSync(ca, 'utf8'),
    ...present({ settings: text === undefined ? undefined : write, request }),
    isRotation,
  });
  print(`${thing} may connect with certificate ${certificate.id}.`);
  const beside = request ? ', beside its key' : '';
  print(
    `Copy ${resolve(out)}/ to ${at}/ of ${hostname}${beside}, for root only, and remove it here.`,
  );
  if (request) print(`SHA-256 of the request's public key: ${keyFingerprint(request.publicKey)}`);
}

async function list({ registry, stage }: Target): Promise<void> {
  for (const thing of await registry.things()) {
    const hostname = readHostname(thing);
    printHost(hostname, await registry.certificatesOf(thing), await readPresence(stage, hostname));
  }
}

async function remove(registry: Registry, stage: string, things: readonly string[]): Promise<void> {
  if (things.length === 0) print('No hosts are enrolled.');
  const isConnected = async (hostname: string) => {
    const presence = await readPresence(stage, hostname).catch(unlessTableIsGone);
    return presence?.isConnected ?? false;
  };
  await removeHosts(registry, things, isConnected, (hostname, certificates) => {
    printChange('removed', certificates);
    print(`removed ${hostname}`);
  });
}

async function mark(stage: string, hostname: string, revokedAt: string | undefined) {
  const { strong } = createDocuments();
  await markRevoked(strong, stage, hostname, revokedAt).catch(unlessTableIsGone);
}

async function readPresence(stage: string, hostname: string): Promise<Presence | undefined> {
  const { store } = createStore(createDocuments(), stage);
  return (await store.inventory.host(hostname)).host.presence;
}

/** A half-removed stack may have no tables; its hosts can still be removed. */
function unlessTableIsGone(error: Error): undefined {
  if (error.name !== 'ResourceNotFoundException') throw error;
}

interface Named {
  readonly id: string;
  readonly status: string;
  readonly createdAt: Date;
}

function printHost(hostname: string, certificates: readonly Named[], presence?: Presence): void {
  const seen = presence
    ? `${presence.isConnected ? 'connected' : 'disconnected'} since ${presence.at}`
    : 'never connected';
  print(`${hostname}: ${seen}`);
  for (const { id, status, createdAt } of certificates) {
    const use = id === presence?.certificate ? '  last used' : '';
    print(`  ${id}  ${status}  ${createdAt.toISOString()}${use}`);
  }
}

function printChange(change: string, certificates: readonly Named[]): void {
  if (certificates.length === 0) print(`No certificate was ${change}.`);
  for (const { id } of certificates) print(`${change} ${id}`);
}
