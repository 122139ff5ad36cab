// The search of the documents, in the browser: a section is found if it has all words; one whose
// heading has them comes first. The data is loaded once the field is used.

const root = document.currentScript.dataset.root;
const field = document.getElementById('search');
const results = document.getElementById('results');
let loading;

function load() {
  loading ??= new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = `${root}/search-data.js`;
    script.onload = () => resolve(globalThis.sections);
    document.head.append(script);
  });
  return loading;
}

function find(sections, words) {
  const score = ({ heading, page, text }) => {
    const [title, body] = [`${page} ${heading}`.toLowerCase(), text.toLowerCase()];
    if (!words.every((word) => title.includes(word) || body.includes(word))) return 0;
    return 1 + words.filter((word) => title.includes(word)).length * 10;
  };
  return sections
    .map((section) => ({ section, score: score(section) }))
    .filter((each) => each.score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, 20)
    .map(({ section }) => section);
}

field.addEventListener('focus', load);
field.addEventListener('input', async () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = await load();
  const found = words.length === 0 ? [] : find(sections, words);
  results.replaceChildren(
    ...found.map(({ page, heading, url }) => {
      const link = document.createElement('a');
      link.href = `${root}/${url}`;
      link.textContent = page === heading ? page : `${page}: ${heading}`;
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
  if (words.length > 0 && found.length === 0) results.textContent = 'Nothing is found.';
  results.hidden = words.length === 0;
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === field) return;
  event.preventDefault();
  field.focus();
});
