import { v2Answer } from '#core/contracts/api/versions.ts';
import { action } from '#functions/http/action.ts';
import { v2Document } from './documents.ts';

export const getV2 = action({ answers: { 200: v2Answer } }, async ({ base }) => {
  const document = v2Document(base, 'v2.0');
  return { body: { ...document, versions: [document] } };
});
