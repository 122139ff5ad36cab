// The stage of the scenarios: the real services, the local system, and their users.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SysfsTree } from '#local/demo/sysfs-tree.ts';
import { type Layout, urlOf } from '#local/process/layout.ts';
import type { System } from '#local/process/system.ts';
import { type Client, restClient } from '#test/support/suites/rest.ts';
import { block } from './guide.ts';
import { type Cloud, startBriefKeystone } from './install/cloud.ts';
import type { CloudPlan } from './install/configuration.ts';
import {
  admin,
  demo,
  logIn,
  other,
  type Services,
  servicesFor,
  type User,
  variablesOf,
} from './users.ts';

export interface Stage {
  readonly cloud: Cloud;
  readonly layout: Layout;
  readonly system: System;
  /** What driver `nic` of the first node's agent reads; empty at first. */
  readonly sysfs: SysfsTree;
  readonly admin: Services;
  readonly demo: Services;
  readonly other: Services;
  /** A second Keystone whose tokens expire after seconds; started at its first use. */
  briefKeystone(): Promise<string>;
  /** Runs a block of docs/openstack.md as that user; returns its output. */
  guide(name: string, user?: User, variables?: Readonly<Record<string, string>>): Promise<string>;
  /** Sets the faults of the agents' fake hardware; without an argument there are none. */
  setFaults(faults?: Faults): void;
  /** The answers of our API in its log, oldest first. */
  readonly answers: readonly ApiAnswer[];
}

/** The faults that edge-agent/drivers/fake/hardware.ts reads. */
export interface Faults {
  readonly types?: readonly string[];
  readonly fail?: Readonly<Record<string, string>>;
  readonly delayMs?: Readonly<Record<string, number>>;
  readonly lingerMs?: Readonly<Record<string, number>>;
}

export interface ApiAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The sentence of a refusal. */
  readonly refusal?: string;
}

export const servicePassword = 'of the service user';

export function acceleratorUrl(layout: Layout): string {
  return `${urlOf(layout, 'api')}/accelerator/v2`;
}

/** The operators' API, for an administrator unless another user is named. */
export async function operatorOf({ cloud, layout }: Stage, user: User = admin): Promise<Client> {
  const token = { 'X-Auth-Token': await logIn(cloud.plan, user) };
  return restClient(`${urlOf(layout, 'api')}/operator/v1`, token);
}

/** The reasons of the incidents that name the server. */
export async function incidentsOf(stage: Stage, server: string): Promise<readonly string[]> {
  const { body } = await (await operatorOf(stage)).ask('GET', '/incidents');
  return body.incidents
    .filter((each) => JSON.stringify(each).includes(server))
    .map(({ reason }) => reason);
}

/** Runs a block of the guide; the service user is created so before the system starts. */
export function runGuide(
  cloud: Cloud,
  layout: Layout,
  name: string,
  user: User,
  variables: Readonly<Record<string, string>> = {},
  document?: string,
): Promise<string> {
  guideRuns++;
  return cloud.processes.run({
    name: `guide-${guideRuns}-${name}`,
    command: ['/bin/bash', '-euo', 'pipefail', '-c', `${ownCommand}\n${block(name, document)}`],
    variables: {
      ...variablesOf(cloud.plan, user),
      CYBORG_URL: acceleratorUrl(layout),
      CYBORG_PASSWORD: servicePassword,
      COMPUTE_HOST: cloud.plan.computeHost,
      ...variables,
    },
  });
}
let guideRuns = 0;

/** `cyborg-ops` as it is called in a checkout, with the Node of the suite. */
const ownCommand = `cyborg-ops() { '${process.execPath}' '${join(import.meta.dirname, '../../operate/cyborg-ops.ts')}' "$@"; }`;

/** The boot id of the first node, whose fake hardware is empty after a boot. */
export function bootFile({ directory }: CloudPlan): string {
  return join(directory, 'boot-id');
}

export function sysfsRootOf({ directory }: Layout): string {
  return join(directory, 'sysfs');
}

/** @param url of the accelerator service, if it is not ours */
export async function openStage(
  cloud: Cloud,
  layout: Layout,
  system: System,
  answers: readonly ApiAnswer[],
  url = acceleratorUrl(layout),
): Promise<Stage> {
  const hardware = cloud.plan.computeHosts.map((host) =>
    join(layout.directory, 'agents', host, 'drivers', 'fake-hardware'),
  );
  let brief: Promise<string> | undefined;
  return {
    cloud,
    layout,
    system,
    sysfs: new SysfsTree(sysfsRootOf(layout)),
    admin: await servicesFor(cloud.plan, admin, url),
    demo: await servicesFor(cloud.plan, demo, url),
    other: await servicesFor(cloud.plan, other, url),
    briefKeystone: () => {
      brief ??= startBriefKeystone(cloud);
      return brief;
    },
    guide: (name, user = admin, variables = {}) => runGuide(cloud, layout, name, user, variables),
    setFaults: (faults) => {
      for (const directory of hardware) {
        const file = join(directory, 'faults.json');
        mkdirSync(directory, { recursive: true });
        if (faults) writeFileSync(file, JSON.stringify(faults));
        else rmSync(file, { force: true });
      }
    },
    answers,
  };
}
