// A small real OpenStack on loopback: Keystone, Placement, Glance, Neutron and Nova with its fake
// hypervisor, with a database and a broker of their own.

import { execFileSync } from 'node:child_process';
import { freePort } from '#local/ports.ts';
import { admin, furnish, servicesFor } from '#test/openstack/users.ts';
import {
  type CloudPlan,
  computeConfigurationName,
  configurationFile,
  databaseUrl,
  type GuidedSettings,
  keystoneUrl,
  type Ports,
  portNames,
  writeConfiguration,
} from './configuration.ts';
import { openProcesses, type Processes } from './processes.ts';
import {
  startGlance,
  startKeystoneApi,
  startNetwork,
  startNova,
  startNovaApi,
  startNovaCompute,
  startPlacement,
} from './programs.ts';
import type { Release } from './releases.ts';

export interface Cloud {
  readonly plan: CloudPlan;
  readonly processes: Processes;
  /** Starts nova-compute on a node, by default the first; {@link startCloud} does not start it. */
  startCompute(host?: string): Promise<void>;
  /** Kills nova-compute, as a crash would. */
  killCompute(host?: string): Promise<void>;
  stop(): Promise<void>;
}

export async function planCloud(
  directory: string,
  computeHosts: readonly [string, ...string[]],
  release: Release,
): Promise<CloudPlan> {
  const ports: Partial<Record<keyof Ports, number>> = {};
  for (const name of portNames) ports[name] = await freePort({ host: '127.0.0.1', port: 0 });
  return {
    directory,
    ports: ports as Ports,
    password: 'only-on-loopback',
    region: 'RegionOne',
    computeHost: computeHosts[0],
    computeHosts,
    release,
  };
}

/** Starts all services but nova-compute: a cloud before Cyborg is installed. */
export async function startCloud(plan: CloudPlan, guided: GuidedSettings): Promise<Cloud> {
  writeConfiguration(plan, guided);
  const processes = openProcesses(plan.directory);
  const cloud: Cloud = {
    plan,
    processes,
    startCompute: async (host = plan.computeHost) => startNovaCompute(cloud, host),
    killCompute: (host = plan.computeHost) => processes.kill(computeConfigurationName(plan, host)),
    stop: () => processes.stop(),
  };
  try {
    startBroker(cloud);
    await startDatabase(cloud);
    await Promise.all([makeKeystone(cloud), makeOthers(cloud), makeNetwork(cloud)]);
    startNova(cloud, 'conductor', 'nova');
    startNova(cloud, 'scheduler', 'nova');
    startNovaApi(cloud);
    await Promise.all([
      processes.listening('placement', plan.ports.placement),
      processes.listening('glance', plan.ports.glance),
      processes.listening('neutron', plan.ports.network),
      processes.listening('nova-api', plan.ports.nova),
    ]);
    // Neutron of Zed fails to list ports before it has listed anything else.
    await (await servicesFor(plan, admin, '')).network.ask('GET', '/networks');
  } catch (error) {
    await cloud.stop();
    throw error;
  }
  return cloud;
}

function startBroker({ plan, processes }: Cloud): void {
  const { ports, directory } = plan;
  const epmd = { ERL_EPMD_PORT: String(ports.epmd), ERL_EPMD_ADDRESS: '127.0.0.1' };
  processes.start({
    name: 'epmd',
    command: ['epmd', '-port', String(ports.epmd), '-address', '127.0.0.1'],
  });
  processes.start({
    name: 'rabbitmq',
    command: ['/usr/lib/rabbitmq/bin/rabbitmq-server'],
    variables: {
      ...epmd,
      HOME: `${directory}/rabbit`,
      RABBITMQ_NODENAME: `cyborg-test-${ports.rabbit}@localhost`,
      RABBITMQ_MNESIA_BASE: `${directory}/rabbit`,
      RABBITMQ_LOG_BASE: `${directory}/log`,
      RABBITMQ_CONFIG_FILE: configurationFile(plan, 'rabbitmq'),
      RABBITMQ_ENABLED_PLUGINS_FILE: `${directory}/rabbit/enabled_plugins`,
      RABBITMQ_PID_FILE: `${directory}/run/rabbitmq.pid`,
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_DIST_PORT: String(ports.rabbitDistribution),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
        '+sbwt none +sbwtdcpu none +sbwtdio none +S 1:1 -kernel inet_dist_use_interface {127,0,0,1}',
    },
  });
}

async function startDatabase({ plan, processes }: Cloud): Promise<void> {
  const data = `${plan.directory}/database`;
  const user = execFileSync('/usr/bin/id', ['-un'], { encoding: 'utf8' }).trim();
  const own = ['--no-defaults', `--user=${user}`, `--datadir=${data}`];
  await processes.run({
    name: 'mariadb-install-db',
    command: [
      'mariadb-install-db',
      ...own,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ],
  });
  processes.start({
    name: 'mariadb',
    command: [
      'mariadbd',
      ...own,
      // Relative to the data: the path of a socket must be short, and the checkout's path may be
      // long.
      '--socket=mariadb.sock',
      `--pid-file=${plan.directory}/run/mariadb.pid`,
      '--bind-address=127.0.0.1',
      `--port=${plan.ports.mariadb}`,
      '--skip-name-resolve',
      '--skip-log-bin',
      '--innodb-buffer-pool-size=192M',
      '--innodb-flush-log-at-trx-commit=0',
      '--performance-schema=off',
      '--max-connections=300',
      '--character-set-server=utf8mb4',
    ],
  });
  await processes.listening('mariadb', plan.ports.mariadb);
  const names = ['keystone', 'placement', 'glance', 'neutron', 'nova_api', 'nova', 'nova_cell0'];
  const statements = names
    .map((name) => `CREATE DATABASE ${name} CHARACTER SET utf8mb4;`)
    .join(' ');
  await runSql({ plan, processes }, 'create-databases', statements);
}

/** @param name of the process */
export async function runSql(
  { plan, processes }: Pick<Cloud, 'plan' | 'processes'>,
  name: string,
  statements: string,
): Promise<void> {
  const client = ['mariadb', '--no-defaults', '-u', 'root', '-h', '127.0.0.1'];
  const command = [...client, '-P', String(plan.ports.mariadb), '-e', statements];
  await processes.run({ name, command });
}

async function makeKeystone(cloud: Cloud): Promise<void> {
  const { plan } = cloud;
  const url = keystoneUrl(plan);
  const user = execFileSync('/usr/bin/id', ['-un'], { encoding: 'utf8' }).trim();
  const owner = ['--keystone-user', user, '--keystone-group', user];
  const manage = (...args: string[]) => runProgram(cloud, 'keystone-manage', 'keystone', ...args);
  await manage('db_sync');
  await manage('fernet_setup', ...owner);
  await manage('credential_setup', ...owner);
  await manage(
    'bootstrap',
    ...['--bootstrap-username', 'admin', '--bootstrap-password', plan.password],
    ...['--bootstrap-project-name', 'admin', '--bootstrap-role-name', 'admin'],
    ...['--bootstrap-service-name', 'keystone', '--bootstrap-region-id', plan.region],
    ...['--bootstrap-admin-url', url, '--bootstrap-internal-url', url],
    ...['--bootstrap-public-url', url],
  );
  await startKeystone(cloud);
  // Create the users first: Nova's services log in when they start.
  await furnish(plan);
}

export async function startKeystone(cloud: Cloud): Promise<void> {
  const { plan, processes } = cloud;
  startKeystoneApi(cloud, 'keystone', plan.ports.keystone);
  await processes.listening('keystone', plan.ports.keystone);
}

/** Starts a second Keystone with the same users and keys, whose tokens expire after seconds. */
export async function startBriefKeystone(cloud: Cloud): Promise<string> {
  const { plan, processes } = cloud;
  const port = plan.ports.briefKeystone;
  startKeystoneApi(cloud, 'keystone-brief', port);
  await processes.listening('keystone-brief', port);
  return `http://127.0.0.1:${port}/v3`;
}

/** Runs a program of the release, such as `nova-manage`, with the configuration of that name. */
async function runProgram(
  { plan, processes }: Cloud,
  program: string,
  file: string,
  ...args: string[]
): Promise<void> {
  const words = args.join('-').replaceAll(/[^\w-]/g, '');
  const configuration = ['--config-file', configurationFile(plan, file)];
  await processes.run({
    name: `${program}-${words.slice(0, 40)}`,
    command: [plan.release.program(program), ...configuration, ...args],
  });
}

async function makeNetwork(cloud: Cloud): Promise<void> {
  await runProgram(cloud, 'neutron-db-manage', 'neutron', 'upgrade', 'heads');
  startNetwork(cloud);
}

async function makeOthers(cloud: Cloud): Promise<void> {
  const { plan, processes } = cloud;
  const manage = (program: string, file: string, ...args: string[]) =>
    runProgram(cloud, program, file, ...args);
  await manage('placement-manage', 'placement', 'db', 'sync');
  startPlacement(cloud);
  await manage('glance-manage', 'glance-api', 'db_sync');
  startGlance(cloud);
  await manage('nova-manage', 'nova', 'api_db', 'sync');
  const cell0 = databaseUrl(plan, 'nova_cell0');
  await manage('nova-manage', 'nova', 'cell_v2', 'map_cell0', '--database_connection', cell0);
  await manage('nova-manage', 'nova', 'db', 'sync');
  await manage('nova-manage', 'nova', 'cell_v2', 'create_cell', '--name', 'cell1');
  await processes.listening('rabbitmq', plan.ports.rabbit);
}
