// A host whose agent has the fake FPGA and the fake GPU, a broker with jobs for it, and a server
// with an image.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type WorkEnd, workEnd } from '#core/contracts/jobs/work-message.ts';
import { type InventoryReport, inventoryReport } from '#core/contracts/report/inventory-report.ts';
import { workEndTopic, workTopic } from '#core/contracts/topics.ts';
import { startBroker } from '#local/aws/broker.ts';
import { type Certificates, openCertificates } from '#local/aws/certificates.ts';
import { aGbs, sha256Of } from '#test/support/hosts/gbs.ts';
import { aJobsModel, type JobsModel } from '#test/support/hosts/iot-jobs-model.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';

const thing = 'test:cmp1:example';
export const bootId = '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7';
export const fpga = '0000:0d:00.0';
export const gpu = '0000:0e:00.0';
export const imageId = '5e0b3d49-2f0c-4b0b-8c0c-b0b0c0ffee00';

interface GpuState {
  readonly mdevs: readonly { readonly uuid: string; readonly type: string }[];
}
interface FpgaState {
  readonly imageId?: string;
  readonly functionUuid?: string;
}
interface Stored<State> {
  readonly state: State;
  readonly writes: number;
}

export interface Faults {
  readonly fail?: Readonly<Record<string, string>>;
  readonly delayMs?: Readonly<Record<string, number>>;
  readonly lingerMs?: Readonly<Record<string, number>>;
}

interface JobsHost {
  readonly model: JobsModel;
  readonly reports: readonly InventoryReport[];
  /** Topics of all messages about jobs so far. */
  readonly traffic: { readonly fromHost: string[]; readonly toHost: string[] };
  readonly image: { id: string; url: string; sha256: string; bytes: number };
  /** How many bytes of the image the server sends before it stalls; all by default. */
  sendImage: { bytes: number };
  /** Images and partial downloads that the agent keeps. */
  images(): readonly string[];
  forget(image: string): void;
  start(environment?: Readonly<Record<string, string>>): AgentProcess;
  /** Sends a work message to the agent. */
  sendWork(message: object): Promise<void>;
  /** What the agent has answered to work messages. */
  readonly workEnds: readonly WorkEnd[];
  setFaults(faults: Faults): void;
  boot(bootId: string): void;
  gpu(): Stored<GpuState>;
  fpga(): Stored<FpgaState>;
  /** The agent's files about jobs, as text. */
  checkpoint(): string;
  document(action: string, given?: Readonly<Record<string, unknown>>): object;
  stop(): Promise<void>;
}

let certificates: Certificates | undefined;

export async function aJobsHost(): Promise<JobsHost> {
  const directory = mkdtempSync(join(tmpdir(), 'agent-jobs-'));
  certificates ??= openCertificates(mkdtempSync(join(tmpdir(), 'agent-certificates-')));
  const reports: InventoryReport[] = [];
  const workEnds: WorkEnd[] = [];
  const traffic = { fromHost: [] as string[], toHost: [] as string[] };
  const model = aJobsModel(thing, (topic, payload) => {
    traffic.toHost.push(topic);
    return broker.publish(topic, payload);
  });
  const broker = await startBroker({
    stage: 'test',
    certificates: certificates.server,
    deliver: async (topic, payload) => {
      // Before the answer, after which a test counts.
      if (topic.includes('/jobs/')) traffic.fromHost.push(topic);
      await model.deliver(topic, payload);
      if (topic.endsWith(workEndTopic('test', thing))) {
        workEnds.push(workEnd.parse(JSON.parse(payload.toString())));
      }
      if (!topic.endsWith('/inventory')) return;
      const report = inventoryReport.parse(JSON.parse(payload.toString()));
      // The first report tells the boot only.
      if (!report.is_hello) reports.push(report);
    },
  });
  const gbs = aGbs();
  const sendImage = { bytes: gbs.length };
  const images = await serveHttp((_request, response) => {
    response.write(gbs.subarray(0, sendImage.bytes));
    if (sendImage.bytes === gbs.length) response.end();
  });
  const { port } = images;
  const agents: AgentProcess[] = [];
  const hardware = join(directory, 'state/drivers/fake-hardware');
  const bootIdFile = join(directory, 'boot_id');
  mkdirSync(hardware, { recursive: true });
  writeFileSync(bootIdFile, `${bootId}\n`);

  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '{}';
    }
  };
  return {
    model,
    reports,
    traffic,
    image: {
      id: imageId,
      url: `http://127.0.0.1:${port}/../../etc/image?signature=secret`,
      sha256: sha256Of(gbs),
      bytes: gbs.length,
    },
    sendImage,
    images: () => {
      const kept = join(directory, 'state/images');
      return existsSync(kept) ? readdirSync(kept) : [];
    },
    forget: (image) => rmSync(join(directory, 'state/images', image)),
    workEnds,
    sendWork: (message) => broker.publish(workTopic('test', thing), JSON.stringify(message)),
    start: (environment = {}) => {
      const agent = startAgent({
        directory,
        broker,
        certificate: (certificates as Certificates).issueHostCertificate(thing),
        settings: {
          CYBORG_AGENT_DRIVERS: 'fake_fpga,fake_gpu',
          CYBORG_AGENT_BOOT_ID_FILE: bootIdFile,
          CYBORG_AGENT_INTERVAL_SECONDS: '3600',
          CYBORG_AGENT_LOG_LEVEL: 'debug',
          CYBORG_AGENT_IMAGE_SOURCE: `http://127.0.0.1:${port}/`,
          ...environment,
        },
      });
      agents.push(agent);
      return agent;
    },
    setFaults: (faults) => writeFileSync(join(hardware, 'faults.json'), JSON.stringify(faults)),
    boot: (id) => writeFileSync(bootIdFile, `${id}\n`),
    gpu: () => ({
      state: { mdevs: [] },
      writes: 0,
      ...JSON.parse(read(join(hardware, 'gpu.json'))),
    }),
    fpga: () => ({ state: {}, writes: 0, ...JSON.parse(read(join(hardware, 'fpga.json'))) }),
    checkpoint: () => read(join(directory, 'state/jobs.json')),
    document: (action, given = {}) => ({
      version: 1,
      action,
      host: 'cmp1.example',
      boot_id: bootId,
      ...given,
    }),
    stop: async () => {
      for (const agent of agents) await agent.killHard();
      await broker.stop();
      images.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
