// A real Cyborg beside the other services: release 9.0.0 (Zed) from PyPI on Debian's libraries,
// with its API, conductor and agent, and its fake driver.

import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { servicePassword } from '#test/openstack/stage.ts';
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
import { CannotRun, ensurePackages, packagesOfCyborg } from './packages.ts';
import { startWsgi } from './programs.ts';

const release = 'openstack-cyborg==9.0.0';
const parts = ['api', 'conductor', 'agent'] as const;
type Part = (typeof parts)[number];

export interface Cyborg {
  /** The URL in the catalog. */
  readonly url: string;
  start(...which: Part[]): Promise<void>;
  /** Ends these processes, as an operator stops the services. */
  stop(...which: Part[]): Promise<void>;
  /** What the client of the database prints for the statements. */
  tables(statements: string): Promise<string>;
  /** Runs statements that break what Cyborg has stored. */
  sql(statements: string): Promise<string>;
}

/** @param directory of the virtual environment, kept between runs. @throws CannotRun */
export function installCyborg(directory: string): string {
  ensurePackages(packagesOfCyborg);
  const at = join(directory, 'cyborg-9.0.0');
  const mark = join(at, 'installed');
  if (existsSync(mark)) return join(at, 'bin/python');
  rmSync(at, { recursive: true, force: true });
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
  return join(at, 'bin/python');
}

/** Makes its database; {@link Cyborg.start} starts it. */
export async function prepareCyborg(cloud: Cloud, python: string): Promise<Cyborg> {
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
  await processes.run({
    name: 'cyborg-dbsync',
    command: [...pythonOf(python, 'dbsync'), '--config-file', file, 'upgrade'],
  });
  const starts: Readonly<Record<Part, () => Promise<void>>> = {
    api: () => {
      // Several threads use up the connections to the database in this release.
      startWsgi(cloud, 'cyborg-api', port, wsgi, 2, { PYTHONPATH: sitePackages(python) }, 1);
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
    url: `http://127.0.0.1:${port}/accelerator/v2`,
    start: async (...which) => {
      for (const part of which) await starts[part]();
    },
    stop: async (...which) => {
      for (const part of which) await processes.kill(`cyborg-${part}`);
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
