// Starts the services' programs: Debian's files, or those of the current release.

import { copyFileSync, writeFileSync } from 'node:fs';
import { providerUuid } from '#core/domain/ids.ts';
import type { Cloud } from './cloud.ts';
import { computeConfigurationName, configurationFile } from './configuration.ts';

/** A client's certificate in PEM, in base64. */
export const certificateHeader = 'Client-Certificate';

/** What a server that ends TLS, such as Apache's mod_ssl, adds to a request. */
const addCertificate = `
import base64
keystone = application
def application(environ, start_response):
    text = environ.get('HTTP_CLIENT_CERTIFICATE')
    if text: environ['SSL_CLIENT_CERT'] = base64.b64decode(text).decode()
    return keystone(environ, start_response)
`;

/** @param name of its configuration, too */
export function startKeystoneApi(cloud: Cloud, name: string, port: number): void {
  const variables = { OS_KEYSTONE_CONFIG_FILES: configurationFile(cloud.plan, name) };
  if (cloud.plan.release.servesByWaitress) {
    startReleased(cloud, name, port, 'keystone.wsgi.api', variables, addCertificate);
  } else {
    startWsgi(cloud, name, port, '/usr/bin/keystone-wsgi-public', 2, variables);
  }
}

export function startGlance(cloud: Cloud): void {
  const { plan } = cloud;
  const variables = { OS_GLANCE_CONFIG_DIR: `${plan.directory}/conf` };
  if (plan.release.servesByWaitress) {
    startReleased(cloud, 'glance', plan.ports.glance, 'glance.wsgi.api', variables);
  } else {
    startPython(cloud, 'glance.cmd.api', 'glance-api', 'glance');
  }
}

export function startPlacement(cloud: Cloud): void {
  const { plan } = cloud;
  const port = plan.ports.placement;
  const variables = { OS_PLACEMENT_CONFIG_DIR: `${plan.directory}/conf` };
  if (plan.release.servesByWaitress) {
    startReleased(cloud, 'placement', port, 'placement.wsgi.api', variables);
  } else {
    startWsgi(cloud, 'placement', port, '/usr/bin/placement-api', 1, variables);
  }
}

export function startNetwork(cloud: Cloud): void {
  const { plan } = cloud;
  if (plan.release.servesByWaitress) {
    startReleased(cloud, 'neutron', plan.ports.network, 'neutron.wsgi.api', {
      OS_NEUTRON_CONFIG_DIR: `${plan.directory}/conf`,
      OS_NEUTRON_CONFIG_FILES: 'neutron.conf',
    });
  } else {
    startPython(cloud, 'neutron.cmd.eventlet.server', 'neutron', 'neutron');
  }
}

export function startNovaApi(cloud: Cloud): void {
  const { plan } = cloud;
  if (!plan.release.servesByWaitress) {
    startNova(cloud, 'api_os_compute', 'nova', 'nova-api');
    return;
  }
  const configuration = `${plan.directory}/conf`;
  copyFileSync(plan.release.pasteFiles.nova, `${configuration}/api-paste.ini`);
  startReleased(cloud, 'nova-api', plan.ports.nova, 'nova.wsgi.osapi_compute', {
    OS_NOVA_CONFIG_DIR: configuration,
    OS_NOVA_CONFIG_FILES: 'api-paste.ini;nova.conf',
  });
}

function startReleased(
  cloud: Cloud,
  name: string,
  port: number,
  module: string,
  variables: Readonly<Record<string, string>>,
  more = '',
): void {
  // Not with waitress-serve: Nova reads the arguments of its process.
  const program = `import sys; sys.argv = ['${name}']; from ${module} import application${more}`;
  startWaitress(cloud, name, port, { python: cloud.plan.release.python, program }, variables);
}

interface WsgiProgram {
  readonly python: string;
  /** Python code that defines `application`. */
  readonly program: string;
}

export function startWaitress(
  { processes }: Cloud,
  name: string,
  port: number,
  { python, program }: WsgiProgram,
  variables: Readonly<Record<string, string>> = {},
): void {
  // Waitress answers 413 to a body of a gigabyte by default: the snapshot of a disk of that size.
  const options = `listen='127.0.0.1:${port}', threads=6, max_request_body_size=2 << 30`;
  const serve = `import waitress; waitress.serve(application, ${options})`;
  const command = [python, '-s', '-c', `${program}\n${serve}`];
  processes.start({ name, variables, command });
}

/**
 * Starts nova-compute of one node. Nova's fake driver draws a new identity of its node in each
 * process, and current releases refuse to start with another identity than before. So the node
 * gets a fixed identity, by a module that Python loads first. The program of a current release is
 * started as an operator does it, because the agent finds the release by it.
 */
export function startNovaCompute(cloud: Cloud, host: string): void {
  const { plan, processes } = cloud;
  const name = computeConfigurationName(plan, host);
  if (!plan.release.servesByWaitress) {
    startNova(cloud, 'compute', name, name);
    return;
  }
  const identity = providerUuid(`node ${host}`);
  const directory = `${plan.directory}/${name}`;
  writeFileSync(`${directory}/compute_id`, identity);
  const fix = `setattr(uuidsentinel, 'node_${host}', '${identity}')`;
  const first = `from oslo_utils.fixture import uuidsentinel\n${fix}\n`;
  writeFileSync(`${directory}/sitecustomize.py`, first);
  processes.start({
    name,
    variables: { PYTHONPATH: directory, PYTHONNOUSERSITE: '1' },
    command: [
      ...[plan.release.program('nova-compute'), '--config-file', configurationFile(plan, name)],
      ...['--log-file', `${plan.directory}/log/${name}.log`],
    ],
  });
}

export function startNova(
  cloud: Cloud,
  module: string,
  file: string,
  name = `nova-${module}`,
): void {
  const log = `${cloud.plan.directory}/log/${name}.log`;
  startPython(cloud, `nova.cmd.${module}`, file, name, '--log-file', log);
}

function startPython(
  cloud: Cloud,
  module: string,
  file: string,
  name: string,
  ...args: string[]
): void {
  // Like Debian's script of that name, whose package is not needed.
  const program = `import sys; sys.argv[0] = '${name}'; from ${module} import main; sys.exit(main())`;
  const configuration = ['--config-file', configurationFile(cloud.plan, file)];
  cloud.processes.start({
    name,
    command: [cloud.plan.release.python, '-s', '-c', program, ...configuration, ...args],
  });
}

export function startWsgi(
  { processes }: Cloud,
  name: string,
  port: number,
  file: string,
  count: number,
  variables: Readonly<Record<string, string>>,
  threads = 4,
): void {
  processes.start({
    name,
    variables,
    command: [
      ...['uwsgi', '--plugin', 'python3', '--http-socket', `127.0.0.1:${port}`],
      ...['--wsgi-file', file, '--master', '--processes', String(count)],
      ...['--threads', String(threads)],
      ...['--enable-threads', '--need-app', '--die-on-term', '--buffer-size', '65535'],
      // uWSGI closes connections; without this header clients that keep connections sometimes
      // fail.
      ...['--add-header', 'Connection: close', '--disable-logging', '--lazy-apps'],
    ],
  });
}
