// `npm run test:openstack`: the local system with a real Keystone, Placement, Nova, Glance and
// Neutron.
//
// --release Zed    Debian's release instead of the current one from PyPI
// --newer          only tells whether the registry has newer releases than the suite
// --stay           keeps all of it running until Ctrl-C, for manual tests
// --only <words>   plays the set-up and the scenarios with the words in their names
// --sample         leaves out long scenarios, as CI does
// --deletes 100    deletes as many servers during their builds
// --boots 200      builds as many servers beside changes of their profile
// --hardware       plays the set-up and the scenarios of a compute node with real drivers of the
//                  agent, which is a VM with a real kernel
// --guest          plays the set-up and the scenarios of servers that use their devices, on a
//                  compute node with libvirt and QEMU in that VM (npm run test:guest)
// --without-cleaning  with --guest: the agent's settings erase nothing, so that the scenario of
//                  two tenants must fail
// --cyborg [17.0.0]  plays the move from a real Cyborg to this service, and back; 9.0.0 unless
//                    another release is named
// --side-by-side   with --cyborg: measures Nova's calls of both in turns, and moves nothing

import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { chooseLayout, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { CannotRun, skip } from '#test/support/suites/cannot-run.ts';
import { isWanted, optionOf, ScenarioSuite } from '#test/support/suites/scenario-suite.ts';
import { credentials } from './credentials/credentials.ts';
import { ensureGuest } from './guest/node.ts';
import { guest } from './guest/scenarios.ts';
import { block, novaConfiguration } from './guide.ts';
import { hardwareHost } from './hardware-node.ts';
import { type Cloud, planCloud, startCloud } from './install/cloud.ts';
import { type CloudPlan, keystoneUrl } from './install/configuration.ts';
import { type CyborgRelease, installCyborg, usualRelease } from './install/cyborg.ts';
import { sayWhatIsNewer } from './install/newer.ts';
import { ensureServices } from './install/packages.ts';
import { debian, installRelease, type Release } from './install/releases.ts';
import { dividedAnew } from './outages/divided-anew.ts';
import { killed } from './outages/killed.ts';
import { lostTrees } from './outages/lost-trees.ts';
import { redriven } from './outages/redriven.ts';
import { wrongMoments } from './outages/wrong-moments.ts';
import { alternativeCards, alternatives } from './profiles/alternatives.ts';
import { leases } from './profiles/leases.ts';
import { novaFolder, offeredTwice } from './profiles/offered-twice.ts';
import { boardCards, pools } from './profiles/pools.ts';
import { unifiedLimits } from './profiles/unified-limits.ts';
import { updates } from './profiles/updates.ts';
import { whatNovaShows } from './refusals/what-nova-shows.ts';
import { play, type Scenario } from './scenario.ts';
import { failures } from './scenarios/failures.ts';
import { ensureHardware, hardware } from './scenarios/hardware.ts';
import { identity } from './scenarios/identity.ts';
import { images } from './scenarios/images.ts';
import { importing } from './scenarios/import.ts';
import { neverBuilt } from './scenarios/never-built.ts';
import { novaCode } from './scenarios/nova-code.ts';
import { placement } from './scenarios/placement.ts';
import { cardSettings, ports } from './scenarios/ports.ts';
import { servers } from './scenarios/servers.ts';
import { setUp } from './scenarios/set-up.ts';
import { tempest } from './scenarios/tempest.ts';
import { twoNodes } from './scenarios/two-nodes.ts';
import { disputedCards } from './simulated-card.ts';
import {
  type ApiAnswer,
  bootFile,
  openStage,
  runGuide,
  type Stage,
  servicePassword,
  sysfsRootOf,
} from './stage.ts';
import { admin, variablesOf } from './users.ts';

const directory = join(import.meta.dirname, '..', '..', '.local', 'openstack');
/** Virtual environments are kept between runs. */
const environments = join(directory, '..', 'openstack-releases');
/** Names with a dot, as most hosts have. The second node joins in the scenarios of two nodes. */
const computeHosts = ['compute-1.example', 'compute-2.example'] as const;
const withGuest = process.argv.includes('--guest');
const withHardware = withGuest || process.argv.includes('--hardware');
const withCyborg = process.argv.includes('--cyborg');

const all = [
  ...setUp,
  ...servers,
  ...updates,
  ...neverBuilt,
  ...failures,
  ...whatNovaShows,
  ...placement,
  ...lostTrees,
  ...wrongMoments,
  ...dividedAnew,
  ...redriven,
  ...ports,
  ...pools,
  ...offeredTwice,
  ...alternatives,
  ...novaCode,
  ...images,
  ...identity,
  ...credentials,
  ...tempest,
  ...twoNodes,
  ...killed,
  ...unifiedLimits,
  ...leases(environments),
];

const suite = new ScenarioSuite();

async function main(): Promise<void> {
  lockDirectory(directory);
  // Delete the files of an earlier run, whose processes ended with it.
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  if (withHardware && !canHaveHardware()) return;
  ensureServices();
  const cyborg = withCyborg ? cyborgRelease() : undefined;
  if (withCyborg && cyborg === undefined) return;
  suite.step('the packages are installed');
  const release = wantedRelease();
  const nodes = withHardware ? ([computeHosts[0], hardwareHost] as const) : computeHosts;
  const plan = await planCloud(directory, nodes, release);
  const variables = { ...variablesOf(plan, admin), NOVA_PASSWORD: plan.password };
  const cloud = await startCloud(plan, {
    nova: novaConfiguration(variables),
    neutronPolicy: block('neutron-policy.yaml'),
  });
  suite.closeAtEnd(cloud.stop);
  suite.step(`Keystone, Placement, Glance, Neutron and Nova (${release.name}) have started`);
  const { stage, answers } = await startBeside(cloud);
  suite.step('the local system has started');
  const measuresCalls = process.argv.includes('--side-by-side');
  const scenarios =
    cyborg === undefined ? chosen() : await importing(stage, answers, cyborg, { measuresCalls });
  for (const scenario of scenarios) {
    const outcome = await play(scenario, stage, { sharesServers: withCyborg });
    suite.report(outcome);
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
      const startsLater = index > 0 || withCyborg;
      const common = { hostname, intervalSeconds: 2, startsLater };
      if (withCyborg) return { ...common, drivers: 'fake' };
      const drivers = 'fake,fake-gpu,fake-fpga';
      if (index > 0) return { ...common, drivers };
      writeFileSync(bootFile(cloud.plan), randomUUID());
      const settings = {
        nic: cardSettings,
        pci: { allow_list: [...boardCards, ...alternativeCards, ...disputedCards] },
        nova_conf: novaFolder(cloud.plan),
        boot_id_file: bootFile(cloud.plan),
      };
      const simulated = { sysfsRoot: sysfsRootOf(layout), settings };
      return { ...common, drivers: `${drivers},nic,pci`, ...simulated };
    }),
    restart: false,
    onLine: (part, line) => {
      if (part === 'api' && line.message === 'Request answered') answers.push(line as never);
    },
  });
  suite.closeAtEnd(system.stop);
  return { stage: await openStage(cloud, layout, system, answers), answers };
}

function cyborgRelease(): CyborgRelease | undefined {
  const next = optionOf('--cyborg') ?? '';
  try {
    return installCyborg(next === '' || next.startsWith('--') ? usualRelease : next, environments);
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    console.log(`SKIPPED: test:openstack --cyborg cannot run on this machine: ${error.message}`);
    return undefined;
  }
}

function canHaveHardware(): boolean {
  try {
    if (withGuest) ensureGuest();
    else ensureHardware();
    return true;
  } catch (error) {
    skip(withGuest ? 'test:guest' : 'test:openstack --hardware', error);
    return false;
  }
}

function settingsFor(plan: CloudPlan): Record<string, string> {
  return {
    // Nova of Debian's release attaches no mdev, but its fake hypervisor does.
    CYBORG_ATTACH_TYPES: plan.release === debian ? 'PCI,TEST_PCI,MDEV' : '',
    KEYSTONE_URL: keystoneUrl(plan),
    CYBORG_OS_PASSWORD: servicePassword,
    CYBORG_OS_REGION_NAME: plan.region,
    PLACEMENT_URL: `http://127.0.0.1:${plan.ports.placement}`,
    // Versions as some clouds register them, and not as our calls have them.
    NOVA_URL: `http://127.0.0.1:${plan.ports.nova}`,
    GLANCE_URL: `http://127.0.0.1:${plan.ports.glance}/v2`,
  };
}

/** The set-up is always played: all other scenarios need it. */
function chosen(): readonly Scenario[] {
  if (withHardware) {
    const cleans = !process.argv.includes('--without-cleaning');
    const { scenarios, end: close } = withGuest ? guest({ cleans }) : hardware();
    suite.closeAtEnd(close);
    const [joins, ...others] = scenarios;
    return [...setUp, ...(joins ? [joins] : []), ...others.filter(({ name }) => isWanted(name))];
  }
  const leavesOutLong = process.argv.includes('--sample');
  return all.filter(
    (each) =>
      setUp.includes(each) || (isWanted(each.name) && !(leavesOutLong && each.isLong === true)),
  );
}

/** Clouds with a Cyborg are as old as Debian's, unless the command says otherwise. */
function wantedRelease(): Release {
  const usual = withCyborg ? debian.name : undefined;
  return installRelease(optionOf('--release') ?? usual, environments);
}

async function stay({ cloud, layout }: Stage): Promise<void> {
  const environment = { ...variablesOf(cloud.plan, admin), CYBORG_URL: urlOf(layout, 'api') };
  for (const [name, value] of Object.entries(environment)) console.log(`export ${name}=${value}`);
  await suite.stay();
}

if (process.argv.includes('--newer')) process.exit(sayWhatIsNewer() ? 0 : 1);
await suite.run(main, {
  shown: (error) => (error instanceof CannotRun ? error.message : error),
  lastStep: `all processes have ended; the logs of the services are in ${directory}/log`,
});
