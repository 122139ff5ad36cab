// `npm run -s enrol -- --stage <stage> …`: gives compute nodes their identity at AWS IoT, a new one, or
// takes it away. Account, region and credentials are those of AWS's own environment.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { IoTClient } from '@aws-sdk/client-iot';
import { hostnameOf, isHostname, isStage, thingName } from '#core/contracts/topics.ts';
import { createStore } from '#core/deps.ts';
import type { Presence } from '#core/domain/device.ts';
import { createDocuments } from '#core/store/documents.ts';
import { sentenceOf } from './arguments.ts';
import { agentSettings } from './enrol/agent-settings.ts';
import {
  keepCertificate,
  refuseUnknown,
  retireCertificates,
  revokeCertificates,
} from './enrol/end-certificates.ts';
import { EnrolmentRefused, enrolHost } from './enrol/enrol-host.ts';
import { amazonAuthorities, installedAt, openHostFolder } from './enrol/host-folder.ts';
import { createRegistry, RegistryMismatch } from './enrol/registry.ts';
import { removeHosts } from './enrol/remove-hosts.ts';

const usage = `npm run -s enrol -- --stage <stage> <host> --out <folder> --settings <file>
                                                     a host that is new: its folder for ${installedAt}
npm run -s enrol -- --stage <stage> <host> --out <folder> --rotate    another certificate, beside the old
npm run -s enrol -- --stage <stage> <host> --retire                   then: the old ones go
npm run -s enrol -- --stage <stage> <host> --revoke                   the host is lost
npm run -s enrol -- --stage <stage> <host> --remove                   the host is gone for good
npm run -s enrol -- --stage <stage> --remove --all                    all are: before the stack is removed
npm run -s enrol -- --stage <stage> --list

<host>      the compute node's name in Nova
--settings  JSON with what the host may offer, at least "drivers"; see docs/agent.md
--port      8883, or 443 where nothing else gets out
--ca        PEM file of the broker's authorities, where it is not AWS's
--at        where the folder will be on the host; ${installedAt}
--images    URL below which the stage's images are: the stack's output ImageSource
--keep      with --retire: the certificate to keep, where it is not the one the host connects with`;

function readOptions() {
  return parseArgs({
    allowPositionals: true,
    options: {
      stage: { type: 'string' },
      out: { type: 'string' },
      settings: { type: 'string' },
      port: { type: 'string', default: '8883' },
      ca: { type: 'string' },
      at: { type: 'string', default: installedAt },
      images: { type: 'string' },
      keep: { type: 'string' },
      rotate: { type: 'boolean', default: false },
      retire: { type: 'boolean', default: false },
      revoke: { type: 'boolean', default: false },
      remove: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
}

async function main(): Promise<void> {
  const { values: given, positionals } = readOptions();
  const { stage } = given;
  if (stage === undefined) throw new EnrolmentRefused(`--stage is missing.\n\n${usage}`);
  if (!isStage(stage)) {
    throw new EnrolmentRefused(`--stage ${stage} is none: lower case, digits and hyphens.`);
  }
  if (!(Number(given.port) >= 1 && Number(given.port) <= 65_535)) {
    throw new EnrolmentRefused(`--port ${given.port} is no port.`);
  }
  refuseTwoVerbs(given, positionals);
  const registry = createRegistry(new IoTClient(), stage);
  const { store } = createStore(createDocuments(), stage);
  const presenceOf = async (hostname: string) =>
    (await store.inventory.host(hostname)).host.presence;
  const isConnected = async (hostname: string) => {
    const presence = await presenceOf(hostname).catch(unlessTableIsGone);
    return presence?.isConnected ?? false;
  };
  const remove = async (things: readonly string[]) => {
    if (things.length === 0) console.log('There are no hosts.');
    await removeHosts(registry, things, isConnected, (hostname, certificates) => {
      tell('removed', certificates);
      console.log(`removed ${hostname}`);
    });
  };

  if (given.list) {
    for (const thing of await registry.things()) {
      const hostname = hostnameOf(thing);
      print(hostname, await registry.certificatesOf(thing), await presenceOf(hostname));
    }
    return;
  }
  if (given.all) {
    await remove(await registry.things());
    return;
  }
  const [hostname, ...rest] = positionals;
  if (hostname === undefined) throw new EnrolmentRefused(`The host is missing.\n\n${usage}`);
  if (rest.length > 0)
    throw new EnrolmentRefused(`One host at a time, not ${positionals.join(', ')}.`);
  if (!isHostname(hostname)) {
    throw new EnrolmentRefused(`${JSON.stringify(hostname)} cannot be a compute node's name.`);
  }
  const thing = thingName(stage, hostname);
  if (given.remove) {
    await refuseUnknown(registry, thing);
    await remove([thing]);
  } else if (given.revoke) {
    tell('revoked', await revokeCertificates(registry, thing));
  } else if (given.keep !== undefined) {
    tell('removed', await keepCertificate(registry, thing, given.keep));
  } else if (given.retire) {
    const inUse = (await presenceOf(hostname))?.certificate;
    tell('removed', await retireCertificates(registry, thing, inUse));
  } else {
    const { out, settings, at, port, ca, images } = given;
    if (out === undefined) throw new EnrolmentRefused(`--out is missing.\n\n${usage}`);
    if (!given.rotate && settings === undefined) {
      throw new EnrolmentRefused(`--settings is missing: what may the host offer?\n\n${usage}`);
    }
    const text = settings === undefined ? undefined : readFileSync(settings, 'utf8');
    const write = (host: string) =>
      agentSettings({ stage, hostname, endpoint: `${host}:${port}`, at, images }, text ?? '{}');
    // What is wrong with them is told before anything is made.
    if (text !== undefined) write('broker.example');
    const certificate = await enrolHost({
      registry,
      stage,
      hostname,
      folder: openHostFolder(out),
      authorities: ca === undefined ? amazonAuthorities() : readFileSync(ca, 'utf8'),
      ...(text !== undefined && { settings: write }),
      isRotation: given.rotate,
    });
    console.log(`${thing} may connect with certificate ${certificate.id}.`);
    console.log(
      `Copy ${resolve(out)}/ to ${at}/ of ${hostname}, for root only, and remove it here.`,
    );
  }
}

/** Where a stack was half removed its hosts are still to be. */
function unlessTableIsGone(error: Error): undefined {
  if (error.name !== 'ResourceNotFoundException') throw error;
}

/** What is asked for could not be told: to retire is not to revoke. */
function refuseTwoVerbs(
  { list, rotate, retire, revoke, remove, all, keep }: ReturnType<typeof readOptions>['values'],
  positionals: readonly string[],
): void {
  const verbs = Object.entries({ list, rotate, retire, revoke, remove }).flatMap(
    ([verb, isGiven]) => (isGiven ? [`--${verb}`] : []),
  );
  if (verbs.length > 1) throw new EnrolmentRefused(`${verbs.join(' and ')} exclude each other.`);
  if (keep !== undefined && verbs.length > 0 && !retire) {
    throw new EnrolmentRefused(`--keep goes with --retire, not with ${verbs[0]}.`);
  }
  if (all && !remove) throw new EnrolmentRefused('--all goes with --remove.');
  if (all && positionals.length > 0) {
    throw new EnrolmentRefused(`--all takes no host; it was given ${positionals.join(', ')}.`);
  }
  if (list && positionals.length > 0) {
    throw new EnrolmentRefused(`--list takes no host; it was given ${positionals.join(', ')}.`);
  }
}

interface Named {
  readonly id: string;
  readonly status: string;
  readonly createdAt: Date;
}

function print(hostname: string, certificates: readonly Named[], presence?: Presence): void {
  const seen = presence
    ? `${presence.isConnected ? 'connected' : 'away'} since ${presence.at}`
    : 'never seen';
  console.log(`${hostname}: ${seen}`);
  for (const { id, status, createdAt } of certificates) {
    const use = id === presence?.certificate ? '  last used' : '';
    console.log(`  ${id}  ${status}  ${createdAt.toISOString()}${use}`);
  }
}

function tell(what: string, certificates: readonly Named[]): void {
  if (certificates.length === 0) console.log(`Nothing to be ${what}.`);
  for (const { id } of certificates) console.log(`${what} ${id}`);
}

main().catch((error: Error) => {
  const isOurs = error instanceof EnrolmentRefused || error instanceof RegistryMismatch;
  console.error(sentenceOf(error));
  process.exitCode = isOurs ? 1 : 2;
});
