import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, it } from 'vitest';
import { showDevices } from '#local/demo/device-list.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

let server: Server | undefined;
afterEach(() => server?.close());

/** Cyborg's own port and its neighbours: fetch refuses each. */
const refusedByFetch = [6666, 6665, 6667, 6668, 6669];

async function serve(devices: readonly object[]): Promise<string> {
  for (const port of refusedByFetch) {
    server = createServer((_request, response) => response.end(JSON.stringify({ devices })));
    server.listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (isFree) return `http://127.0.0.1:${port}`;
  }
  throw new Error(`In use by other programs: ports ${refusedByFetch.join(', ')}.`);
}

it("shows the devices of each host, also at the port that is Cyborg's own", async () => {
  const device = { hostname: 'cmp1', std_board_info: null };
  const api = await serve([
    { ...device, type: 'GPU' },
    { ...device, type: 'FPGA' },
    { ...device, hostname: 'cmp2', type: 'NIC' },
  ]);
  const said: string[] = [];
  showDevices(api, (sentence) => said.push(sentence)).look();
  await eventually(() => said).toEqual(['cmp1 has FPGA, GPU', 'cmp2 has NIC']);
});
