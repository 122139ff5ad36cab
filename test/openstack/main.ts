// `npm run test:openstack`: the local system with a real Keystone, Placement, Nova and Glance.
//
// --nova 34.0.0    Nova and Placement of that release from PyPI instead of Debian's
// --stay           keeps all of it running until Ctrl-C, for manual tests
// --only <words>   plays the set-up and the scenarios with the words in their names
// --hardware       plays the set-up and the scenarios of a compute node with real drivers of the
//                  agent, which is a VM with a real kernel
// --cyborg         plays the move from a real Cyborg to this service, and back

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { chooseLayout, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { CannotRun as NoVm } from '#test/kernel/packages.ts';
import { type Cloud, planCloud, startCloud } from './cloud.ts';
import { type CloudPlan, keystoneUrl } from './configuration.ts';
import { installCyborg } from './cyborg.ts';
import { novaConfiguration } from './guide.ts';
import { CannotRun, ensurePackages } from './packages.ts';
import { debian, installRelease, type Release } from './releases.ts';
import { type Outcome, play, printOutcome, type Scenario } from './scenario.ts';
import { failures } from './scenarios/failures.ts';
import { ensureHardware, hardware, hardwareHost } from './scenarios/hardware.ts';
import { identity } from './scenarios/identity.ts';
import { images } from './scenarios/images.ts';
import { importing } from './scenarios/import.ts';
import { killed } from './scenarios/killed.ts';
import { patches } from './scenarios/patches.ts';
import { placement } from './scenarios/placement.ts';
import { servers } from './scenarios/servers.ts';
import { setUp } from './scenarios/set-up.ts';
import { twoNodes } from './scenarios/two-nodes.ts';
import { type ApiAnswer, openStage, runGuide, type Stage, servicePassword } from './stage.ts';
import { admin, variablesOf } from './users.ts';

const directory = join(import.meta.dirname, '..', '..', '.local', 'openstack');
/** Virtual environments are kept between runs. */
const environments = join(directory, '..', 'openstack-releases');
/** Names with a dot, as most hosts have. The second node joins in the scenarios of two nodes. */
const computeHosts = ['compute-1.example', 'compute-2.example'] as const;
const withHardware = process.argv.includes('--hardware');
const withCyborg = process.argv.includes('--cyborg');

const all = [
  ...setUp,
  ...servers,
  ...failures,
  ...placement,
  ...patches,
  ...images,
  ...identity,
  ...twoNodes,
  ...killed,
];

const startedAt = performance.now();
let passed = 0;
let failed = 0;
const closing: (() => Promise<void>)[] = [];

async function main(): Promise<void> {
  lockDirectory(directory);
  // Delete the files of an earlier run, whose processes ended with it.
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  ensurePackages();
  if (withHardware && !canHaveHardware()) return;
  const python = withCyborg ? cyborgsPython() : undefined;
  if (withCyborg && python === undefined) return;
  step('the packages are installed');
  const release = wantedRelease();
  const nodes = withHardware ? ([computeHosts[0], hardwareHost] as const) : computeHosts;
  const plan = await planCloud(directory, nodes, release);
  const variables = { ...variablesOf(plan, admin), NOVA_PASSWORD: plan.password };
  const cloud = await startCloud(plan, novaConfiguration(variables));
  closing.push(cloud.stop);
  step(`Keystone, Placement, Glance and Nova (${release.name}) have started`);
  const { stage, answers } = await startBeside(cloud);
  step('the local system has started');
  const scenarios = python === undefined ? chosen() : await importing(stage, answers, python);
  for (const scenario of scenarios) {
    const outcome = await play(scenario, stage);
    count(outcome);
    // Without a compute node no other scenario can pass.
    if (!outcome.hasPassed && scenario === scenarios[0]) break;
  }
  if (process.argv.includes('--stay')) await stay(stage);
}

interface Beside {
  readonly stage: Stage;
  readonly answers: readonly ApiAnswer[];
}

async function startBeside(cloud: Cloud): Promise<Beside> {
  Object.assign(process.env, settingsFor(cloud.plan));
  const layout = await chooseLayout({
    stage: 'openstack',
    directory: join(directory, 'ours'),
    anyPorts: true,
  });
  // With a Cyborg, the catalog names Cyborg's API first.
  const url = `http://127.0.0.1:${cloud.plan.ports.cyborg}/accelerator/v2`;
  await runGuide(cloud, layout, 'register', admin, withCyborg ? { CYBORG_URL: url } : {});
  const answers: ApiAnswer[] = [];
  const system: System = await startSystem({
    layout,
    agents: (withHardware ? computeHosts.slice(0, 1) : computeHosts).map((hostname, index) => {
      const drivers = withCyborg ? 'fake' : 'fake,fake-gpu,fake-fpga';
      return { hostname, drivers, intervalSeconds: 2, startsLater: index > 0 || withCyborg };
    }),
    restart: false,
    onLine: (part, line) => {
      if (part === 'api' && line.message === 'Answered.') answers.push(line as never);
    },
  });
  closing.push(system.stop);
  return { stage: await openStage(cloud, layout, system, answers), answers };
}

function cyborgsPython(): string | undefined {
  try {
    return installCyborg(environments);
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    console.log(`SKIPPED: test:openstack --cyborg cannot run on this machine: ${error.message}`);
    return undefined;
  }
}

function canHaveHardware(): boolean {
  try {
    ensureHardware();
    return true;
  } catch (error) {
    if (!(error instanceof NoVm)) throw error;
    console.log(`SKIPPED: test:openstack --hardware cannot run on this machine: ${error.message}.`);
    return false;
  }
}

function settingsFor(plan: CloudPlan): Record<string, string> {
  return {
    KEYSTONE_URL: keystoneUrl(plan),
    CYBORG_OS_PASSWORD: servicePassword,
    CYBORG_OS_REGION_NAME: plan.region,
    PLACEMENT_URL: `http://127.0.0.1:${plan.ports.placement}`,
    NOVA_URL: `http://127.0.0.1:${plan.ports.nova}/v2.1`,
    GLANCE_URL: `http://127.0.0.1:${plan.ports.glance}`,
  };
}

/** The set-up is always played: all other scenarios need it. */
function chosen(): readonly Scenario[] {
  if (withHardware) {
    const { scenarios, end: close } = hardware();
    closing.push(close);
    return [...setUp, ...scenarios];
  }
  const words = (argument('--only') ?? '').split('|');
  return all.filter(
    (each) => setUp.includes(each) || words.some((word) => each.name.includes(word)),
  );
}

function wantedRelease(): Release {
  const name = argument('--nova');
  return name === undefined ? debian : installRelease(name, environments);
}

function argument(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function count(outcome: Outcome): void {
  printOutcome(outcome);
  if (outcome.hasPassed) passed++;
  else failed++;
}

function step(sentence: string): void {
  console.log(
    `${`${((performance.now() - startedAt) / 1000).toFixed(1)} s`.padStart(14)}  ${sentence}`,
  );
}

async function stay({ cloud, layout }: Stage): Promise<void> {
  const environment = { ...variablesOf(cloud.plan, admin), CYBORG_URL: urlOf(layout, 'api') };
  for (const [name, value] of Object.entries(environment)) console.log(`export ${name}=${value}`);
  await new Promise((resolve) => process.once('SIGINT', resolve));
}

async function end(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (process.argv.includes('--stay') && passed > 0 && signal === 'SIGINT') return;
    void end().finally(() => process.exit(1));
  });
}

try {
  await main();
} catch (error) {
  failed++;
  console.error(error instanceof CannotRun ? error.message : error);
} finally {
  await end();
}
step(`all processes have ended; the logs of the services are in ${directory}/log`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
