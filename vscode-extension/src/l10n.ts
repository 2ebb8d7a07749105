/** Translation of UI texts. Every UI text in the sources is an argument of `t`, as a whole sentence or phrase: translators cannot handle
 * parts of sentences. Log messages and the messages of `tandem-dap` are not translated. Independent of VS Code. */

type Value = string | number;
type Translate = (text: string, ...values: Value[]) => string;

let translate: Translate = formatEnglish;

/** Translates a text and replaces its placeholders `{0}`, `{1}` and so on. */
export function t(text: string, ...values: Value[]): string {
  return translate(text, ...values);
}

/** Sets the translation function; call it before any text is shown. */
export function setTranslator(translator: Translate): void {
  translate = translator;
}

/** Replaces the placeholders of an English text. */
export function formatEnglish(text: string, ...values: Value[]): string {
  return text.replace(/\{(\d+)\}/g, (placeholder, index: string) => String(values[Number(index)] ?? placeholder));
}
