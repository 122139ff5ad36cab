// An image in the fake Glance.

/** Puts a raw image of one byte into Glance; returns its id. */
export async function anImage(
  glance: string,
  properties: Readonly<Record<string, string>> = {},
): Promise<string> {
  const headers = { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json' };
  const image = { name: 'any', disk_format: 'raw', container_format: 'bare', ...properties };
  const body = JSON.stringify(image);
  const made = await fetch(`${glance}/v2/images`, { method: 'POST', headers, body });
  const { id } = (await made.json()) as { id: string };
  const data = { ...headers, 'Content-Type': 'application/octet-stream' };
  const file = `${glance}/v2/images/${id}/file`;
  await fetch(file, { method: 'PUT', headers: data, body: new Uint8Array([1]) });
  return id;
}
