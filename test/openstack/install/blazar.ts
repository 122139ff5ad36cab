// A real Blazar beside the other services, from PyPI in an environment of its own: its manager
// with the flavor plug-in, and its API.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#local/ports.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';
import { type Cloud, runSql } from './cloud.ts';
import {
  common,
  configurationFile,
  databaseUrl,
  textOf,
  tokenValidation,
} from './configuration.ts';
import { startWaitress } from './programs.ts';

const version = '18.0.0';

/**
 * Installs and starts it.
 *
 * @param environments directory of the virtual environments, kept between runs
 * @returns the URL of its API, which is in no catalog
 */
export async function startBlazar(cloud: Cloud, environments: string): Promise<string> {
  const { plan, processes } = cloud;
  const requirements = join(import.meta.dirname, `blazar-${version}.txt`);
  const programs = ensureEnvironment(join(environments, `blazar-${version}`), requirements);
  const port = await freePort({ host: '127.0.0.1', port: 0 });
  const file = configurationFile(plan, 'blazar');
  const settings = {
    DEFAULT: {
      ...common(plan, 'blazar'),
      transport_url: `rabbit://guest:guest@127.0.0.1:${plan.ports.rabbit}/`,
      os_auth_port: plan.ports.keystone,
      os_admin_username: 'admin',
      os_admin_password: plan.password,
      os_admin_project_name: 'admin',
      os_region_name: plan.region,
    },
    manager: { plugins: 'physical.host.plugin,flavor.instance.plugin' },
    database: { connection: databaseUrl(plan, 'blazar') },
    keystone_authtoken: { ...tokenValidation(plan, 'nova'), service_token_roles_required: false },
  };
  writeFileSync(file, textOf(settings));
  await runSql(cloud, 'create-database-blazar', 'CREATE DATABASE blazar CHARACTER SET utf8mb4;');
  const command = (program: string, ...args: string[]) => [
    ...[join(programs, program), '--config-file', file, ...args],
  ];
  await processes.run({
    name: 'blazar-db-manage',
    command: command('blazar-db-manage', 'upgrade', 'head'),
  });
  processes.start({ name: 'blazar-manager', command: command('blazar-manager') });
  // Its program blazar-api ends at once, by a thread that keeps no process.
  const api = {
    python: join(programs, 'python'),
    program: 'from blazar.wsgi.api import application',
  };
  startWaitress(cloud, 'blazar-api', port, api, {
    OS_BLAZAR_CONFIG_DIR: `${plan.directory}/conf`,
  });
  await processes.listening('blazar-api', port);
  return `http://127.0.0.1:${port}/v1`;
}
