// The system outside of the VMs: the local system with its fakes of OpenStack, without a host of
// its own.

import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { thingName } from '#core/contracts/topics.ts';
import { createStore } from '#core/deps.ts';
import { signedText } from '#core/domain/device/firmware/component-image.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { type Client, client } from '#local/demo/demo-client.ts';
import { cloudsFileName, writeCloudsFile } from '#local/process/clouds-file.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { certificateDirectory } from '#local/process/parts.ts';
import { startSystem } from '#local/process/system.ts';

/** A local system that hosts in VMs connect to, whatever OpenStack is beside it. */
export interface HostCloud {
  readonly stage: string;
  readonly brokerPort: number;
  /** The S3 from which the agent fetches images. */
  readonly imagesPort: number;
  /** What the agent of the host needs to connect, by file name. */
  enrol(hostname: string): Promise<Readonly<Record<string, Buffer>>>;
  /** The boot that the control plane knows; jobs for another boot are rejected by the agent. */
  bootIdOf(hostname: string): Promise<string | undefined>;
  /** Whether the host has cleaned up after all servers that are gone. */
  isClean(hostname: string): Promise<boolean>;
  /** Why devices of the host are not healthy. */
  healthOf(hostname: string): Promise<readonly string[]>;
  /** What the host has verified after the last cleaning of each handle. */
  evidenceOf(hostname: string): Promise<readonly Evidence[]>;
}

/** With the fakes of OpenStack. */
export interface Cloud extends HostCloud {
  readonly api: Client;
  readonly nova: Client;
  readonly placement: Client;
  /** The reasons of the incidents of the host, by the operators' API. */
  incidentsOf(hostname: string): Promise<readonly string[]>;
  /** Runs `cyborg-ops` like an operator, and returns what it prints. */
  ops(...words: readonly string[]): Promise<string>;
  /** Puts a public image into Glance, and returns its id. */
  addImage(
    name: string,
    content: Buffer,
    properties?: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** The same for a component, with a signature that the cloud trusts. */
  addFirmware(content: string, properties: Readonly<Record<string, string>>): Promise<string>;
  stop(): Promise<void>;
}

const opsProgram = join(import.meta.dirname, '../../operate/cyborg-ops.ts');

export async function startCloud(directory: string): Promise<Cloud> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const layout = await chooseLayout({ stage: 'kernel', directory, anyPorts: true });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  const variables = { CYBORG_IMAGE_KEYS: JSON.stringify({ suite: raw }) };
  // Some parts run in this process.
  Object.assign(process.env, variables);
  const system = await startSystem({ layout, agents: [], restart: false, variables });
  const hosts = hostCloud(layout);
  writeCloudsFile(layout);
  const signedIn = { OS_CLIENT_CONFIG_FILE: join(directory, cloudsFileName), OS_CLOUD: 'admin' };
  const operators = client(`${urlOf(layout, 'api')}/operator/v1`);
  const addImage: Cloud['addImage'] = async (name, content, properties = {}) => {
    const ask = async (method: string, path: string, body: string | Uint8Array<ArrayBuffer>) => {
      const headers = { 'X-Auth-Token': 'admin-token' };
      const answer = await fetch(`${urlOf(layout, 'glance')}${path}`, { method, headers, body });
      if (!answer.ok) throw new Error(`Glance answers ${answer.status}: ${await answer.text()}`);
      return answer;
    };
    const given = JSON.stringify({ name, visibility: 'public', ...properties });
    const { id } = (await (await ask('POST', '/v2/images', given)).json()) as { id: string };
    await ask('PUT', `/v2/images/${id}/file`, new Uint8Array(content));
    return id;
  };
  return {
    ...hosts,
    enrol: async (hostname) => {
      await announceHost(layout, hostname);
      return await hosts.enrol(hostname);
    },
    api: client(`${urlOf(layout, 'api')}/accelerator/v2`),
    nova: client(`${urlOf(layout, 'nova')}/v2.1`),
    placement: client(urlOf(layout, 'placement')),
    incidentsOf: async (hostname) => {
      const path = `/incidents?host=${hostname}`;
      const answer = await operators.get<{ incidents: { reason: string }[] }>(path, 'admin-token');
      return answer.incidents.map(({ reason }) => reason);
    },
    ops: async (...words) => {
      const env = { ...process.env, ...signedIn };
      return (await promisify(execFile)(process.execPath, [opsProgram, ...words], { env })).stdout;
    },
    addImage,
    addFirmware: async (content, properties) => {
      const value = createHash('sha512').update(content).digest('hex');
      const text = signedText({ id: '', hash: { algorithm: 'sha512', value }, properties });
      const signature = sign(undefined, Buffer.from(text), privateKey).toString('base64');
      const signed = { ...properties, 'accel:signature': signature };
      return await addImage('firmware', Buffer.from(content), signed);
    },
    stop: () => system.stop(),
  };
}

export function hostCloud(layout: Layout): HostCloud {
  const { inventory } = createStore(createDocuments(), layout.stage).store;
  const certificates = openCertificates(certificateDirectory(layout));
  const handlesOf = async (hostname: string) => {
    const { devices } = await inventory.host(hostname);
    const providers = await inventory.providers(devices.flatMap((device) => device.providers));
    return providers.flatMap(({ handles }) => handles);
  };
  return {
    stage: layout.stage,
    brokerPort: layout.ports.mqtt,
    imagesPort: layout.ports.s3,
    healthOf: async (hostname) => {
      const { devices } = await inventory.host(hostname);
      return devices.flatMap(({ health }) => health?.reason ?? []);
    },
    enrol: async (hostname) => {
      const files = certificates.issueHostCertificate(thingName(layout.stage, hostname));
      return {
        'certificate.pem': readFileSync(files.certificateFile),
        'key.pem': readFileSync(files.keyFile),
        'authorities.pem': readFileSync(files.authorityFile),
      };
    },
    bootIdOf: async (hostname) => (await inventory.host(hostname)).host.bootId,
    isClean: async (hostname) => (await handlesOf(hostname)).every(({ release }) => !release),
    evidenceOf: async (hostname) =>
      (await handlesOf(hostname)).flatMap(({ lastCleaning }) =>
        lastCleaning ? [lastCleaning.evidence] : [],
      ),
  };
}
