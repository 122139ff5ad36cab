import { arqsAnswer } from '#core/contracts/api/accelerator-requests.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { novaAction } from '#functions/http/action.ts';
import { createBody } from './schema.ts';
import { viewArq } from './view.ts';

export const create = novaAction(
  { body: createBody, answers: { 201: arqsAnswer }, refuses: [404, 409] },
  async ({ deps, caller, body, base, about }) => {
    const { device_profile_name: profile, image_uuid: image } = body;
    about({ profile });
    const arqs = await createArqs(deps, caller, profile, image ?? undefined);
    return { body: { arqs: arqs.map((arq) => viewArq(arq, base)) } };
  },
);
