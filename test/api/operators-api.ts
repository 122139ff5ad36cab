import { OpenApiCheck } from '#test/contract/openapi-check.ts';
import type { Answer, Ask, World } from '#test/support/world.ts';

/** Asks the operators' API of the world, and compares each answer with the OpenAPI document. */
export function operatorsApi(world: World) {
  let check: OpenApiCheck | undefined;
  return async (method: string, path: string, ask?: Ask): Promise<Answer> => {
    const url = `/operator/v1${path}`;
    const answer = await world.ask(method, `/accelerator${url}`, ask);
    const document = () => world.ask('GET', '/openapi.json', { token: null });
    check ??= new OpenApiCheck((await document()).json as never);
    check.check({ method, url, ...answer });
    return answer;
  };
}
/** @returns the id of the project */
export async function createProject(keystoneUrl: string, name: string): Promise<string> {
  const response = await fetch(`${keystoneUrl}/projects`, {
    method: 'POST',
    headers: { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json' },
    body: JSON.stringify({ project: { name } }),
  });
  if (response.status !== 201) throw new Error(`Keystone answered ${response.status}.`);
  const { project } = (await response.json()) as { readonly project: { readonly id: string } };
  return project.id;
}
