import { InvalidInput } from '#core/domain/errors.ts';
import { deleteArqs, deleteArqsOfInstance } from '#core/operations/release/delete-arqs.ts';
import { novaAction } from '#functions/http/action.ts';
import { arqUuid, deleteQuery } from './schema.ts';

/** Deletes the ARQs of `?instance=` or `?arqs=`, or the one that the path names. */
export const deleteAction = novaAction(
  { query: deleteQuery, answers: { 204: null }, refuses: [404] },
  async ({ deps, caller, id, query, about }) => {
    const named = id === '' ? query.arqs : [id];
    about({ arqs: named, instance: query.instance });
    if ((named === undefined) === (query.instance === undefined)) {
      throw new InvalidInput('Name the accelerator requests by either ?arqs= or ?instance=.');
    }
    if (query.instance !== undefined) {
      const arqs = await deleteArqsOfInstance(deps, caller, query.instance.toLowerCase());
      about({ arqs });
      return {};
    }
    if (!named || named.length === 0)
      throw new InvalidInput('?arqs= names no accelerator request.');
    await deleteArqs(deps, caller, [...new Set(named.map(arqUuid))]);
    return {};
  },
);
