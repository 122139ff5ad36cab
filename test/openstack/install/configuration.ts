// The services' configuration files: only the settings that a small cloud on loopback needs.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Release } from './releases.ts';

export type Ini = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;

export const portNames = [
  'mariadb',
  'epmd',
  'rabbit',
  'rabbitDistribution',
  'keystone',
  'briefKeystone',
  'placement',
  'glance',
  'nova',
  'network',
  'cyborg',
] as const;
export type Ports = Readonly<Record<(typeof portNames)[number], number>>;

export interface CloudPlan {
  readonly directory: string;
  readonly ports: Ports;
  /** The password of every user: this cloud runs for minutes, on loopback. */
  readonly password: string;
  readonly region: string;
  /** The first compute node, by its name in Nova and Placement. */
  readonly computeHost: string;
  /** All compute nodes. */
  readonly computeHosts: readonly string[];
  readonly release: Release;
}

/** The lifetime of tokens of the second Keystone. */
const briefTokenSeconds = 3;

export function keystoneUrl({ ports }: CloudPlan): string {
  return `http://127.0.0.1:${ports.keystone}/v3`;
}

export function databaseUrl({ ports }: CloudPlan, name: string): string {
  return `mysql+pymysql://root@127.0.0.1:${ports.mariadb}/${name}?charset=utf8mb4`;
}

export function configurationFile({ directory }: CloudPlan, name: string): string {
  return join(directory, 'conf', `${name}.conf`);
}

function neutronPolicyFile({ directory }: CloudPlan): string {
  return join(directory, 'conf', 'neutron-policy.yaml');
}

/** The credentials of a service, for logins and for validation. */
export function credentials(plan: CloudPlan, username: string) {
  return {
    auth_url: keystoneUrl(plan),
    auth_type: 'password',
    username,
    password: plan.password,
    project_name: 'service',
    user_domain_name: 'Default',
    project_domain_name: 'Default',
    region_name: plan.region,
  };
}

export function tokenValidation(plan: CloudPlan, username: string) {
  return {
    www_authenticate_uri: keystoneUrl(plan),
    ...credentials(plan, username),
    service_token_roles: 'service',
    service_token_roles_required: true,
  };
}

export function common(plan: CloudPlan, name: string) {
  return {
    log_file: join(plan.directory, 'log', `${name}.log`),
    use_stderr: false,
    default_log_levels:
      'amqp=WARN,sqlalchemy=WARN,oslo_messaging=ERROR,keystonemiddleware.auth_token=ERROR,py.warnings=ERROR,stevedore=WARN,urllib3=WARN,oslo_policy=ERROR,keystone.common=ERROR',
  };
}

/** The current release has its default policies, and Zed those of its time. */
function policyOf({ release }: CloudPlan): Ini[string] {
  return release.servesByWaitress ? {} : { enforce_scope: false, enforce_new_defaults: false };
}

/** The configuration file of one compute node. */
export function computeConfigurationName(plan: CloudPlan, host: string): string {
  return `nova-compute-${plan.computeHosts.indexOf(host) + 1}`;
}

function keystone(plan: CloudPlan, expiration: number): Ini {
  const keys = (name: string) => ({ key_repository: join(plan.directory, 'keys', name) });
  return {
    DEFAULT: common(plan, 'keystone'),
    database: { connection: databaseUrl(plan, 'keystone'), max_pool_size: 4 },
    token: { provider: 'fernet', expiration },
    // The fewest that are allowed: tempest creates a hundred users.
    identity: { password_hash_rounds: 4 },
    fernet_tokens: keys('fernet'),
    credential: keys('credential'),
    oslo_policy: policyOf(plan),
  };
}

function placement(plan: CloudPlan): Ini {
  return {
    DEFAULT: common(plan, 'placement'),
    placement_database: { connection: databaseUrl(plan, 'placement') },
    api: { auth_strategy: 'keystone' },
    keystone_authtoken: tokenValidation(plan, 'placement'),
  };
}

function glance(plan: CloudPlan): Ini {
  const store = (name: string) => ({
    filesystem_store_datadir: join(plan.directory, 'images', name),
  });
  return {
    DEFAULT: {
      ...common(plan, 'glance'),
      bind_host: '127.0.0.1',
      bind_port: plan.ports.glance,
      workers: 0,
      enabled_backends: 'file:file',
      worker_self_reference_url: `http://127.0.0.1:${plan.ports.glance}`,
    },
    database: { connection: databaseUrl(plan, 'glance') },
    glance_store: { default_backend: 'file' },
    file: store('store'),
    os_glance_staging_store: store('staging'),
    os_glance_tasks_store: store('tasks'),
    paste_deploy: {
      flavor: 'keystone',
      config_file: plan.release.pasteFiles.glance,
    },
    oslo_policy: policyOf(plan),
    keystone_authtoken: tokenValidation(plan, 'glance'),
  };
}

/** Ports without a layer 2: the agents of it are rows of the database. */
function neutron(plan: CloudPlan): Ini {
  return {
    DEFAULT: {
      ...common(plan, 'neutron'),
      state_path: join(plan.directory, 'neutron'),
      bind_host: '127.0.0.1',
      bind_port: plan.ports.network,
      api_workers: 0,
      rpc_workers: 0,
      api_paste_config: plan.release.pasteFiles.neutron,
      core_plugin: 'ml2',
      service_plugins: '',
      transport_url: `rabbit://guest:guest@127.0.0.1:${plan.ports.rabbit}/`,
      // No agent reports its state again while the suite runs.
      agent_down_time: 86_400,
      notify_nova_on_port_status_changes: false,
      notify_nova_on_port_data_changes: false,
    },
    database: { connection: databaseUrl(plan, 'neutron') },
    ml2: {
      type_drivers: 'flat',
      tenant_network_types: '',
      mechanism_drivers: 'sriovnicswitch',
      extension_drivers: 'port_device_profile',
    },
    oslo_policy: { ...policyOf(plan), policy_file: neutronPolicyFile(plan) },
    oslo_concurrency: { lock_path: join(plan.directory, 'neutron', 'locks') },
    keystone_authtoken: tokenValidation(plan, 'neutron'),
  };
}

/** Nova's fake hypervisor with ten CPUs. */
export const usualDriver = 'fake.MediumFakeDriver';

function nova(plan: CloudPlan): Ini {
  return {
    DEFAULT: {
      ...common(plan, 'nova'),
      state_path: join(plan.directory, 'nova'),
      my_ip: '127.0.0.1',
      host: plan.computeHost,
      transport_url: `rabbit://guest:guest@127.0.0.1:${plan.ports.rabbit}/`,
      enabled_apis: 'osapi_compute',
      osapi_compute_listen: '127.0.0.1',
      osapi_compute_listen_port: plan.ports.nova,
      osapi_compute_workers: 1,
      compute_driver: usualDriver,
      vif_plugging_is_fatal: false,
      vif_plugging_timeout: 0,
      heal_instance_info_cache_interval: -1,
      sync_power_state_interval: -1,
      shelved_offload_time: 0,
      report_interval: 10,
      service_down_time: 60,
    },
    api: { auth_strategy: 'keystone', local_metadata_per_cell: false },
    wsgi: { api_paste_config: plan.release.pasteFiles.nova },
    api_database: { connection: databaseUrl(plan, 'nova_api') },
    database: { connection: databaseUrl(plan, 'nova') },
    conductor: { workers: 1 },
    scheduler: { workers: 1, discover_hosts_in_cells_interval: 5 },
    upgrade_levels: { compute: 'auto' },
    cache: { enabled: false },
    // Servers whose deletes are under way count, so a slow machine would meet the limit of ten.
    quota: { instances: -1, cores: -1 },
    vnc: { enabled: false },
    oslo_policy: policyOf(plan),
    oslo_concurrency: { lock_path: join(plan.directory, 'nova', 'locks') },
    oslo_messaging_rabbit: { heartbeat_in_pthread: false, rpc_conn_pool_size: 5 },
    glance: { endpoint_override: `http://127.0.0.1:${plan.ports.glance}` },
    // Without the type Nova refuses all application credentials with access rules.
    keystone_authtoken: { ...tokenValidation(plan, 'nova'), service_type: 'compute' },
    placement: credentials(plan, 'placement'),
    neutron: credentials(plan, 'nova'),
  };
}

/** What the operators' guide says to set. */
export interface GuidedSettings {
  readonly nova: Ini;
  /** The text of a policy.yaml. */
  readonly neutronPolicy: string;
}

/** Writes all configuration files. */
export function writeConfiguration(plan: CloudPlan, guided: GuidedSettings): void {
  const places = [
    'conf/policy.d',
    'log',
    'run',
    'nova/locks',
    'neutron/locks',
    'rabbit',
    'database',
  ];
  const keys = ['keys/fernet', 'keys/credential'];
  const images = ['store', 'staging', 'tasks'].map((name) => `images/${name}`);
  for (const place of [...places, ...keys, ...images]) {
    mkdirSync(join(plan.directory, place), { recursive: true, mode: 0o700 });
  }
  writeFileSync(neutronPolicyFile(plan), guided.neutronPolicy);
  const novaWhole = merge(nova(plan), guided.nova);
  const { api_database: _, database: __, ...novaCompute } = novaWhole;
  const files: Readonly<Record<string, Ini>> = {
    keystone: keystone(plan, 86_400),
    'keystone-brief': keystone(plan, briefTokenSeconds),
    placement: placement(plan),
    'glance-api': glance(plan),
    neutron: neutron(plan),
    nova: novaWhole,
    // nova-compute must not have the connections of the databases.
    ...Object.fromEntries(
      plan.computeHosts.map((host) => [
        computeConfigurationName(plan, host),
        merge(novaCompute, computeNode(plan, host)),
      ]),
    ),
  };
  for (const [name, ini] of Object.entries(files)) {
    const withPolicies = merge(ini, {
      oslo_policy: { policy_dirs: join(plan.directory, 'conf/policy.d') },
    });
    writeFileSync(configurationFile(plan, name), textOf(withPolicies));
  }
  const rabbit = [
    `listeners.tcp.1 = 127.0.0.1:${plan.ports.rabbit}`,
    'log.file.level = warning',
    'vm_memory_high_watermark.absolute = 512MiB',
    'disk_free_limit.absolute = 100MB',
  ];
  writeFileSync(configurationFile(plan, 'rabbitmq'), `${rabbit.join('\n')}\n`);
  writeFileSync(join(plan.directory, 'rabbit/enabled_plugins'), '[].\n');
}

/**
 * Each node has its own state directory: since 2023.1 Nova keeps the identity of the node there.
 */
function computeNode(plan: CloudPlan, host: string): Ini {
  const state = join(plan.directory, computeConfigurationName(plan, host));
  mkdirSync(join(state, 'locks'), { recursive: true, mode: 0o700 });
  return {
    DEFAULT: { host, state_path: state },
    oslo_concurrency: { lock_path: join(state, 'locks') },
  };
}

function merge(one: Ini, other: Ini): Ini {
  const sections = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...sections].map((section) => [section, { ...one[section], ...other[section] }]),
  );
}

export function textOf(ini: Ini): string {
  return Object.entries(ini)
    .map(([section, options]) => {
      const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
      return `[${section}]\n${lines.join('\n')}\n`;
    })
    .join('\n');
}

/** Parses what {@link textOf} writes; ignores comments. */
export function parseIni(text: string): Ini {
  const ini: Record<string, Record<string, string>> = {};
  let section = 'DEFAULT';
  for (const line of text.split('\n').map((each) => each.trim())) {
    const [, heading] = /^\[(.+)\]$/.exec(line) ?? [];
    const [, name, value] = /^([^#=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (heading) section = heading;
    if (name !== undefined) ini[section] = { ...ini[section], [name]: value ?? '' };
  }
  return ini;
}
