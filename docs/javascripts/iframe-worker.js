// A page that is opened from a folder may not start a worker, which the search of this site is. Here it runs in a hidden
// frame instead. The site's theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      const script = this.frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach(data => this.postMessage(data));
      };
      this.frame.contentDocument.head.append(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data}));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
