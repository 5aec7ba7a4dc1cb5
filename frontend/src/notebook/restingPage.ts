// Below the widget, a cell's output holds a page with the same contents (dmlviz/notebook/page.py): it plays where no
// kernel brings the widget to life. While there is a widget, its page is not shown; a page that is not shown is not loaded.

/** Hide the pages of a widget, also those that come later; what is returned shows them again. */
export function hidePages(id: string): () => void {
  const page = `.dmlviz-page[data-widget="${CSS.escape(id)}"]`;
  const style = document.createElement("style");
  // In JupyterLab the output around it, too, which would leave a gap.
  style.textContent = `${page}, .jp-OutputArea-child:has(${page}) { display: none !important; }`;
  document.head.append(style);
  return () => style.remove();
}
