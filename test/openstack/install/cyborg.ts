// A real Cyborg beside the other services, with its API, conductor and agent, and its fake driver:
// from PyPI 9.0.0 (Zed) on Debian's libraries, or 17.0.0 (2026.2) with libraries of its own.

import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { servicePassword } from '#test/openstack/stage.ts';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { ensurePackages } from '#test/support/suites/debian.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';
import type { Cloud } from './cloud.ts';
import {
  type CloudPlan,
  common,
  configurationFile,
  credentials,
  databaseUrl,
  textOf,
  tokenValidation,
} from './configuration.ts';
import { packagesOfCyborg } from './packages.ts';
import { startWaitress, startWsgi } from './programs.ts';

const parts = ['api', 'conductor', 'agent'] as const;
type Part = (typeof parts)[number];

export interface Cyborg {
  readonly release: CyborgRelease;
  /** The URL in the catalog. */
  readonly url: string;
  start(...which: Part[]): Promise<void>;
  /** Ends these processes, as an operator stops the services. */
  stop(...which: Part[]): Promise<void>;
  /** Has it complete its rows, as after an upgrade; 9.0.0 does not know the command. */
  migrate(): Promise<void>;
  /** What the client of the database prints for the statements. */
  tables(statements: string): Promise<string>;
  /** Runs statements that break what Cyborg has stored. */
  sql(statements: string): Promise<string>;
}

export interface CyborgRelease {
  readonly name: string;
  /** The Python interpreter with Cyborg's modules. */
  readonly python: string;
  /** Its database has the states of devices. */
  readonly hasDeviceState: boolean;
  readonly servesByWaitress: boolean;
}

/** What the suite plays by default; it needs the fewest packages. */
export const usualRelease = '9.0.0';
const currentRelease = '17.0.0';

/**
 * Installs a release of Cyborg, unless it is installed.
 *
 * @param directory of the virtual environments, kept between runs
 * @throws CannotRun
 */
export function installCyborg(name: string, directory: string): CyborgRelease {
  const at = join(directory, `cyborg-${name}`);
  const python = join(at, 'bin/python');
  const isCurrent = name === currentRelease;
  if (isCurrent) installCurrent(at);
  else if (name === usualRelease) installUsual(at);
  else {
    const known = [usualRelease, currentRelease].join(', ');
    throw new CannotRun(`unknown release of Cyborg: ${name}; known are ${known}.`);
  }
  return { name, python, hasDeviceState: isCurrent, servesByWaitress: isCurrent };
}

function installCurrent(at: string): void {
  try {
    console.log(`Installing Cyborg ${currentRelease} from PyPI, unless it is installed ...`);
    ensureEnvironment(at, join(import.meta.dirname, `cyborg-${currentRelease}.txt`));
  } catch (error) {
    throw new CannotRun((error as Error).message);
  }
}

function installUsual(at: string): void {
  ensurePackages(packagesOfCyborg);
  const mark = join(at, 'installed');
  if (existsSync(mark)) return;
  rmSync(at, { recursive: true, force: true });
  const release = `openstack-cyborg==${usualRelease}`;
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--no-build-isolation'];
  try {
    execFileSync('/usr/bin/python3', ['-m', 'venv', '--system-site-packages', at], {
      stdio: 'pipe',
    });
    execFileSync(join(at, 'bin/pip'), ['install', ...options, release], { stdio: 'pipe' });
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? error);
    throw new CannotRun(`Installing ${release} failed: ${said.trim().slice(-300)}`);
  }
  writeFileSync(mark, '');
}

/** Makes its database; {@link Cyborg.start} starts it. */
export async function prepareCyborg(cloud: Cloud, release: CyborgRelease): Promise<Cyborg> {
  const { python } = release;
  const { plan, processes } = cloud;
  const { port, file } = { port: plan.ports.cyborg, file: configurationFile(plan, 'cyborg') };
  const wsgi = join(plan.directory, 'conf', 'cyborg-wsgi.py');
  writeFileSync(file, textOf(configuration(plan)));
  writeFileSync(join(plan.directory, 'conf', 'cyborg-paste.ini'), paste);
  writeFileSync(wsgi, program(file));
  const client = (name: string, statements: string, ...options: string[]) =>
    processes.run({
      name,
      command: [
        ...['mariadb', '--no-defaults', '-u', 'root', '-h', '127.0.0.1'],
        ...['-P', String(plan.ports.mariadb), ...options, '-e', statements],
      ],
    });
  await client('cyborg-database', 'CREATE DATABASE cyborg CHARACTER SET utf8mb4;');
  const dbsync = (verb: string) =>
    processes.run({
      name: `cyborg-dbsync-${verb}`,
      command: [...pythonOf(python, 'dbsync'), '--config-file', file, verb],
    });
  await dbsync('upgrade');
  const starts: Readonly<Record<Part, () => Promise<void>>> = {
    api: () => {
      if (release.servesByWaitress) {
        startWaitress(cloud, 'cyborg-api', port, { python, program: program(file) });
      } else {
        // Several threads use up the connections to the database in this release.
        startWsgi(cloud, 'cyborg-api', port, wsgi, 2, { PYTHONPATH: sitePackages(python) }, 1);
      }
      return processes.listening('cyborg-api', port);
    },
    conductor: async () => start('conductor'),
    agent: async () => start('agent'),
  };
  const start = (part: 'conductor' | 'agent') =>
    processes.start({
      name: `cyborg-${part}`,
      command: [...pythonOf(python, part), '--config-file', file],
    });
  let asked = 0;
  return {
    release,
    url: `http://127.0.0.1:${port}/accelerator/v2`,
    start: async (...which) => {
      for (const part of which) await starts[part]();
    },
    stop: async (...which) => {
      for (const part of which) await processes.kill(`cyborg-${part}`);
    },
    migrate: async () => {
      await dbsync('online_data_migrations');
    },
    tables: (statements) => client(`cyborg-tables-${++asked}`, statements, '--xml', 'cyborg'),
    sql: (statements) => client(`cyborg-sql-${++asked}`, statements, 'cyborg'),
  };
}

function pythonOf(python: string, part: string): string[] {
  const code = `import sys; sys.argv[0] = 'cyborg-${part}'; from cyborg.cmd.${part} import main; sys.exit(main())`;
  return [python, '-s', '-c', code];
}

function sitePackages(python: string): string {
  const code = 'import cyborg, os; print(os.path.dirname(os.path.dirname(cyborg.__file__)))';
  return execFileSync(python, ['-s', '-c', code], { encoding: 'utf8' }).trim();
}

function configuration(plan: CloudPlan) {
  const own = { ...credentials(plan, 'cyborg'), password: servicePassword };
  const at = (port: number, path = '') => `http://127.0.0.1:${port}${path}`;
  return {
    DEFAULT: {
      ...common(plan, 'cyborg'),
      host: plan.computeHost,
      rpc_response_timeout: 20,
      periodic_interval: 2,
      transport_url: `rabbit://guest:guest@127.0.0.1:${plan.ports.rabbit}/`,
      state_path: join(plan.directory, 'cyborg'),
    },
    api: { host_ip: '127.0.0.1', api_paste_config: join(plan.directory, 'conf/cyborg-paste.ini') },
    agent: { enabled_drivers: 'fake_driver' },
    database: { connection: databaseUrl(plan, 'cyborg') },
    keystone_authtoken: { ...tokenValidation(plan, 'cyborg'), password: servicePassword },
    service_catalog: own,
    nova: own,
    placement: { ...own, endpoint_override: at(plan.ports.placement) },
    oslo_policy: { enforce_scope: false },
    oslo_concurrency: { lock_path: join(plan.directory, 'cyborg', 'locks') },
    oslo_messaging_rabbit: { heartbeat_in_pthread: false },
  };
}

const paste = `[pipeline:main]
pipeline = cors request_id authtoken api_v2
[app:api_v2]
paste.app_factory = cyborg.api.app:app_factory
[filter:authtoken]
acl_public_routes = /, /v2
paste.filter_factory = cyborg.api.middleware.auth_token:AuthTokenMiddleware.factory
[filter:cors]
paste.filter_factory = oslo_middleware.cors:filter_factory
oslo_config_project = cyborg
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
`;

/** The catalog's URL has a prefix, as Cyborg's own set-up gives it. */
function program(file: string): string {
  return `import sys
sys.argv = ['cyborg-api', '--config-file', '${file}']
from cyborg.api.wsgi_app import init_application
inner = init_application()
def application(environ, start_response):
    path = environ.get('PATH_INFO', '')
    if path.startswith('/accelerator'):
        environ['SCRIPT_NAME'] = '/accelerator'
        environ['PATH_INFO'] = path[len('/accelerator'):] or '/'
    return inner(environ, start_response)
`;
}
