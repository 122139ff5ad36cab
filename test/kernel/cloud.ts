// The system outside of the VMs: the local system with its fakes of OpenStack, without a host of
// its own.

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { thingName } from '#core/contracts/topics.ts';
import { createStore } from '#core/deps.ts';
import { createDocuments } from '#core/store/documents.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { type Client, client } from '#local/demo/demo-client.ts';
import { chooseLayout, urlOf } from '#local/process/layout.ts';
import { certificateDirectory } from '#local/process/parts.ts';
import { startSystem } from '#local/process/system.ts';

export interface Cloud {
  readonly stage: string;
  readonly brokerPort: number;
  readonly api: Client;
  readonly nova: Client;
  readonly placement: Client;
  /** What the agent of the host needs to connect, by file name. */
  enrol(hostname: string): Promise<Readonly<Record<string, Buffer>>>;
  /** The boot that the control plane knows; jobs for another boot are rejected by the agent. */
  bootIdOf(hostname: string): Promise<string | undefined>;
  /** Whether the host has cleaned up after all servers that are gone. */
  isClean(hostname: string): Promise<boolean>;
  stop(): Promise<void>;
}

export async function startCloud(directory: string): Promise<Cloud> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const layout = await chooseLayout({ stage: 'kernel', directory, anyPorts: true });
  const system = await startSystem({ layout, agents: [], restart: false });
  const { store } = createStore(createDocuments(), layout.stage);
  const certificates = openCertificates(certificateDirectory(layout));
  return {
    stage: layout.stage,
    brokerPort: layout.ports.mqtt,
    api: client(`${urlOf(layout, 'api')}/accelerator/v2`),
    nova: client(`${urlOf(layout, 'nova')}/v2.1`),
    placement: client(urlOf(layout, 'placement')),
    enrol: async (hostname) => {
      await announceHost(layout, hostname);
      const files = certificates.issueHostCertificate(thingName(layout.stage, hostname));
      return {
        'certificate.pem': readFileSync(files.certificateFile),
        'key.pem': readFileSync(files.keyFile),
        'authorities.pem': readFileSync(files.authorityFile),
      };
    },
    bootIdOf: async (hostname) => (await store.inventory.host(hostname)).host.bootId,
    isClean: async (hostname) => {
      const { devices } = await store.inventory.host(hostname);
      const uuids = devices.flatMap(({ providers }) => providers);
      const providers = await store.inventory.providers(uuids);
      return providers.every(({ handles }) => handles.every(({ release }) => !release));
    },
    stop: () => system.stop(),
  };
}
