import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createPortGiver, freePort, listen, PortTaken } from '#local/ports.ts';
import { usualPorts } from '#local/process/layout.ts';

const host = '127.0.0.1';
const outgoingFrom = 32_768;
const servers: ReturnType<typeof createServer>[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function occupy(port: number): Promise<void> {
  const server = createServer();
  servers.push(server);
  await listen(server, { host, port });
}

it('gives a port outside the range of outgoing connections', async () => {
  for (let i = 0; i < 100; i += 1) {
    expect(await freePort({ host, port: 0 })).toBeLessThan(outgoingFrom);
  }
});

it('skips a port that is in use', async () => {
  const port = await freePort({ host, port: 0 });
  await occupy(port + 1);
  expect(await freePort({ host, port: 0 })).not.toBe(port + 1);
});

it('gives different ports to two givers with the same start', async () => {
  const one = createPortGiver(process.pid);
  const other = createPortGiver(process.pid);
  const given: number[] = [];
  for (let i = 0; i < 100; i += 1) {
    given.push(await one({ host, port: 0 }), await other({ host, port: 0 }));
  }
  expect(new Set(given).size).toBe(given.length);
});

it('names the variable that moves a part whose port is taken', async () => {
  const port = await freePort({ host, port: 0 });
  await occupy(port);
  const asked = freePort({ host, port, variable: 'LOCAL_API_PORT' });
  await expect(asked).rejects.toThrow(PortTaken);
  await expect(asked).rejects.toThrow(
    `Port ${port} is in use by another program: stop it, or set LOCAL_API_PORT to another one.`,
  );
});

// Node's fetch refuses the ports that the fetch standard has browsers refuse.
const refusalOf = (port: number) =>
  fetch(`http://${host}:${port}/`).then(
    () => '',
    ({ cause }: { cause?: Error }) => cause?.message ?? '',
  );

it.each(Object.entries(usualPorts))('%s is at a port that browsers open', async (_name, port) => {
  expect(await refusalOf(6666)).toBe('bad port');
  expect(await refusalOf(port)).not.toBe('bad port');
});
